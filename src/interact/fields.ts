/** The fields of an MCP server's form: how a client shows them, and what a person may answer to each. Pure. */

import { isObj, list, type Obj, obj, str, text } from "../platform/json.ts";
import { joined } from "./form.ts";

export interface Field {
  readonly key: string;
  /** In ACP's spelling. */
  readonly shown: Obj;
  readonly required: boolean;
  readonly type: string | undefined;
  /** What there is to choose from, in words; undefined where anything of the type is an answer. */
  readonly choices: readonly string[] | undefined;
}

/** The fields of a `requestedSchema`; what is required and no field cannot be asked for. */
export function fieldsOf(schema: Obj): Field[] {
  const required = list(schema.required);
  return Object.entries(obj(schema.properties)).flatMap(([key, value]): Field[] => {
    if (!isObj(value)) return [];
    const type = text(value.type);
    const choices = choicesOf(type === "array" ? obj(value.items) : value);
    return [{ key, shown: titled(value), required: required.includes(key), type, choices }];
  });
}

function choicesOf(field: Obj): string[] | undefined {
  if (Array.isArray(field.enum)) return field.enum.map(String);
  const named = [field.oneOf, field.anyOf].find(Array.isArray)?.map((each) => obj(each).const);
  return named?.every((value) => value !== undefined) ? named.map(String) : undefined;
}

/** Names of choices stand beside their values. */
function titled({ enumNames, ...field }: Obj): Obj {
  const values = list(field.enum);
  const names = list(enumNames);
  if (names.length === 0 || names.length !== values.length) return field;
  const { enum: _, ...rest } = field;
  return {
    ...rest,
    oneOf: values.map((value, i) => ({ const: value, title: str(names[i]) ?? String(value) })),
  };
}

/** What is answered to a field; undefined for nothing, `wrong` for what its form does not offer. */
export function wordsOf(field: Field, value: unknown): string | readonly string[] | "wrong" | undefined {
  const { type, choices } = field;
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) {
    if (type !== undefined && type !== "array") return "wrong";
    const picked = value.filter((each) => typeof each === "string" && (choices?.includes(each) ?? true));
    return picked.length === value.length ? joined(picked) : "wrong";
  }
  if (type === "array" || !isScalar(value)) return "wrong";
  const words = String(value);
  // Where it is no text, an empty field was left alone.
  if (words === "" && (choices ? !choices.includes("") : type !== undefined && type !== "string"))
    return undefined;
  const fits = choices ? choices.includes(words) : isOf(type, value, words);
  return fits ? words : "wrong";
}

function isScalar(value: unknown): value is string | number | boolean {
  return ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
}

/** Numbers and yes or no may come as the words that were typed. */
function isOf(type: string | undefined, value: unknown, words: string): boolean {
  switch (type) {
    case "boolean":
      return words === "true" || words === "false";
    case "number":
      return typeof value !== "boolean" && Number.isFinite(Number(words.trim() || "-"));
    case "integer":
      return typeof value !== "boolean" && Number.isInteger(Number(words.trim() || "-"));
    case "string":
      return typeof value === "string";
    default:
      return type === undefined;
  }
}
