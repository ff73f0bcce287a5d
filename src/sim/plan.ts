/** Faults by method: which are never answered, refused, slow or missing. */
export interface FaultPlan {
  silent: Set<string>;
  missing: Set<string>;
  /** method → error code */
  refuse: Map<string, number>;
  /** method → seconds */
  slow: Map<string, number>;
}

const items = (text: string | undefined) =>
  (text ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);

/** Reads `METHOD[,METHOD]` and `METHOD:NUMBER[,…]` flags. */
export function faultPlan(flags: {
  silent?: string;
  missing?: string;
  refuse?: string;
  slow?: string;
}): FaultPlan {
  const pairs = (text: string | undefined, fallback: number) =>
    new Map(
      items(text).map((each): [string, number] => {
        const [method, value] = each.split(":");
        return [method!, value === undefined ? fallback : Number(value)];
      }),
    );
  return {
    silent: new Set(items(flags.silent)),
    missing: new Set(items(flags.missing)),
    refuse: pairs(flags.refuse, -32603),
    slow: pairs(flags.slow, 1),
  };
}
