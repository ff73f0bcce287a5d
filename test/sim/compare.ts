/**
 * Compares what the simulator says with what a stream recorded: kinds, keys and order, not values.
 *
 * What is left out, and why (U is what the streams' own README calls guessed):
 * - `computer-use/*` and telemetry other than the two terminals: the streams leave most of them out.
 * - Values of ids, times, counts and sentences: invented in the streams. Ids are followed, so that a later
 *   request can name what an earlier answer made.
 * - Lengths of lists that depend on the machine or on what the stream shortened: models, messages in snapshots,
 *   slash commands, skills, MCP servers.
 * - `runtime.contextUsage`: only around a turn. `cacheReadTokens` of `cacheStats`: only when there were any.
 * - `issues` of refused params: exact texts of the schemas (U). The order of a list of sessions (U).
 * - `perf.permissionWaitMs`: in the streams only behind some of the questions.
 * - `settings.model.lastUsed` of a session whose model is gone (U).
 * - Of the older streams, all of which is U: the keys in `OLD_UNSURE_KEYS`, on which they disagree among
 *   themselves or with the pages.
 */
import { isObj, type Obj } from "../../src/sim/types.ts";

/** Keys whose values are kinds, and must be the same. */
const KINDS = new Set([
  "method",
  "type",
  "kind",
  "status",
  "resultType",
  "decision",
  "turnPhase",
  "delivery",
  "finishReason",
  "stopReason",
  "toolName",
  "success",
  "readOnly",
  "inputRef",
  "inputOmitted",
  "phase",
  "trigger",
  "compactReason",
  "forkPoint",
  "action",
  "optionId",
  "querySource",
  "taskKind",
  "interaction",
  "titleSource",
  "sessionKind",
  "mode",
  "planEnabled",
  "startedTurn",
  "cancelled",
  "errorCode",
  "reasonCode",
  "attempt",
  "role",
  "uiVisibility",
  "transcriptVisibility",
  "origin",
  "source",
  "code",
  "canRunParallel",
  "inputSource",
  "inputVisibility",
  "backgroundSource",
  "accepted",
  "state",
  "authority",
  "strategy",
  "retryable",
]);

const OPTIONAL = new Set(["contextUsage", "cacheReadTokens", "lastUsed", "permissionWaitMs"]);
const OLD_UNSURE_KEYS = new Set([
  ...OPTIONAL,
  "properties",
  "sessionId",
  "historyRoundCount",
  "cacheStats",
  "usage",
  "partId",
  "done",
  "code",
  "type",
  "cause",
]);
/** Lists that need not be as long as the recorded ones. */
const ANY_LENGTH = new Set(["available", "slashCommands", "skills", "levels", "childSessionIds"]);
/** Objects whose keys are names. */
const NAMED = new Set(["statuses", "answers", "annotations", "properties", "modifiedInput", "tools"]);

const ID =
  /(?:sess|turn|msg|exec|agent|call|perm|fg|part|checkpoint|target|cmp|boundary|pending|input|query|trace)_[0-9a-f][0-9a-f_a-z-]*[0-9a-f]/g;

export class Comparison {
  readonly ids = new Map<string, string>();
  readonly differences: string[] = [];
  private readonly optional: Set<string>;

  constructor(old: boolean) {
    this.optional = old ? OLD_UNSURE_KEYS : OPTIONAL;
  }

  /** A recorded request as the simulator must get it. */
  translate(text: string): string {
    return text.replace(ID, (id) => this.ids.get(id) ?? id);
  }

  frame(expected: Obj, actual: Obj, where: string): void {
    this.value(expected, actual, where, "frame");
  }

  private value(expected: unknown, actual: unknown, where: string, key: string): void {
    if (typeof expected === "string" && typeof actual === "string") {
      this.learn(expected, actual);
      const reason =
        key === "reason" && /state\.updated|attribution|model_request|subscribe|cancelBackground/.test(where);
      if ((KINDS.has(key) || reason) && expected !== actual) this.differ(where, expected, actual);
      return;
    }
    if (key === "issues") return;
    if (Array.isArray(expected)) {
      if (!Array.isArray(actual)) return this.differ(where, expected, actual);
      if (expected.length === 0 && (key === "messages" || key === "available")) return;
      if (expected.length !== actual.length && !ANY_LENGTH.has(key) && !where.endsWith("snapshot.messages")) {
        this.differ(`${where} length`, expected.length, actual.length);
      }
      expected.forEach((each, i) => {
        let other: unknown = actual[i];
        if (key === "available" && isObj(each) && each.ref) other = sameRef(each, actual);
        if (key === "sessions" && isObj(each)) {
          const id = this.ids.get(String(each.sessionId)) ?? each.sessionId;
          other = actual.find((row) => isObj(row) && row.sessionId === id);
        }
        if (other !== undefined) this.value(each, other, `${where}[${i}]`, key);
      });
      return;
    }
    if (isObj(expected)) {
      if (!isObj(actual)) return this.differ(where, expected, actual);
      if (NAMED.has(key)) {
        const [first] = Object.values(expected);
        const [other] = Object.values(actual);
        if (isObj(first) && isObj(other)) this.value(first, other, `${where}.*`, "*");
        return;
      }
      this.keys(expected, actual, where);
      for (const [name, each] of Object.entries(expected)) {
        if (name in actual) this.value(each, actual[name], `${where}.${name}`, name);
      }
      return;
    }
    if (KINDS.has(key) && expected !== actual) this.differ(where, expected, actual);
    else if (typeof expected !== typeof actual) this.differ(where, expected, actual);
  }

  private keys(expected: Obj, actual: Obj, where: string): void {
    const missing = Object.keys(expected).filter((key) => !(key in actual) && !this.optional.has(key));
    const more = Object.keys(actual).filter((key) => !(key in expected) && !this.optional.has(key));
    if (missing.length > 0) this.differences.push(`${where}: missing ${missing.join(", ")}`);
    if (more.length > 0) this.differences.push(`${where}: too much ${more.join(", ")}`);
  }

  private learn(expected: string, actual: string): void {
    const from = expected.match(ID);
    const to = actual.match(ID);
    if (!from || !to || from.length !== to.length) return;
    from.forEach((id, i) => {
      if (!this.ids.has(id)) this.ids.set(id, to[i]!);
    });
  }

  private differ(where: string, expected: unknown, actual: unknown): void {
    const show = (value: unknown) => JSON.stringify(value)?.slice(0, 80);
    this.differences.push(`${where}: ${show(expected)} became ${show(actual)}`);
  }
}

/** The model of a list that another list shows too. */
function sameRef(entry: Obj, among: unknown[]): unknown {
  return among.find((each) => isObj(each) && JSON.stringify(each.ref) === JSON.stringify(entry.ref));
}

/** What a frame is, in a word; the order of these must be the same. */
export function nameOf(frame: Obj): string {
  const params = isObj(frame.params) ? frame.params : {};
  if (frame.method === "session/event") {
    const payload = isObj(params.payload) ? params.payload : {};
    const detail = payload.kind ?? payload.type ?? payload.status ?? "";
    return `event ${String(params.type)} ${String(detail)}`.trim();
  }
  if (frame.method === "state.updated") return `state ${String(params.reason)}`;
  if (frame.method)
    return `${frame.id === undefined ? "" : "request "}${String(frame.method)} ${String(params.kind ?? "")}`.trim();
  return `${frame.error ? "error" : "result"} ${String(frame.id)}`;
}

/** Frames that the streams leave out, most of the time. */
export function isNoise(frame: Obj): boolean {
  const method = String(frame.method ?? "");
  const kind = isObj(frame.params) ? frame.params.kind : undefined;
  if (method === "v4/telemetry/event") return kind !== "turn.terminal" && kind !== "compaction.terminal";
  return method.startsWith("computer-use/");
}
