/**
 * Reading values that may be anything. Both wires are hostile now and then: a field may be missing or of
 * another type, so hot paths ask with these instead of trusting a cast.
 */

/** A JSON object whose fields are not known to be anything. */
export type Obj = Readonly<Record<string, unknown>>;

const EMPTY: Obj = Object.freeze({});

/** True for a JSON object: not null, not an array. */
export function isObj(value: unknown): value is Obj {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True where a value is nested deeper than `levels`: to write such a one costs more than it is worth, or fails. */
export function isDeep(value: unknown, levels = 1_000): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeep(inner, levels - 1)) return true;
  return false;
}

/** The value if it is a JSON object, else an empty one. */
export function obj(value: unknown): Obj {
  return isObj(value) ? value : EMPTY;
}

/** The value if it is a string, else undefined. */
export function str(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value if it is a non-empty string, else undefined. */
export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value if it is a finite number, else undefined. */
export function num(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The value if it is an array, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a boolean, else undefined. */
export function bool(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}
