/**
 * What differs between the builds that are out there. One table, so that no other file asks for a version
 * number: it asks for the difference.
 */

export type EraName = "0.15" | "0.16.5" | "3.12" | "0.16.9";

export interface Era {
  name: EraName;
  /** What `--version` of that build prints. */
  version: string;
  /** Unknown keys in params are refused, accounts are pushed, events have the full set of fields. */
  modern: boolean;
  /** Ids of server requests: `server-1` or plain integers. */
  stringIds: boolean;
  /** When the preferences are asked for. */
  preferences: "never" | "materialization" | "both";
  /** `setModel` takes `modelId` as a string instead of a selection. */
  modelAsString: boolean;
  /** A send during a person's turn is folded into it instead of being refused. */
  foldsSends: boolean;
  /** `turn.completed.usage` carries `contextWindow`. */
  contextWindowInUsage: boolean;
  /** Seconds between two announcements of an open question; the last one repeats. */
  reannounce: readonly number[];
  /** A subscribed session may be evicted too. */
  evictsSubscribed: boolean;
  /** `turn.terminal` is a session event instead of a telemetry notification. */
  terminalAsEvent: boolean;
  /** How a session that is busy refuses a send. */
  busy: { code: number; message: string };
  /** A send during a notification's turn is refused too. */
  busyInNotice: boolean;
  /** The questions of AskUserQuestion stand in `input` alone. */
  questionsInInput: boolean;
}

/** What every build says while a notification's turn runs, and the newer ones while any does. */
export const BUSY_ANSWER = { code: -32010, message: "A prompt is already running for this session" };
const MODERN = {
  modern: true,
  stringIds: true,
  preferences: "both",
  modelAsString: false,
  foldsSends: false,
  contextWindowInUsage: false,
  reannounce: [1, 2, 4, 8, 10],
  evictsSubscribed: false,
  terminalAsEvent: false,
  busy: BUSY_ANSWER,
  busyInNotice: false,
  questionsInInput: false,
} as const;

const ERAS: Record<EraName, Era> = {
  "0.16.9": { name: "0.16.9", version: "0.16.9", ...MODERN },
  // The desktop app from 3.12 on ships the new registry under the old number.
  "3.12": { name: "3.12", version: "0.16.5", ...MODERN, busyInNotice: true },
  "0.16.5": {
    name: "0.16.5",
    version: "0.16.5",
    modern: false,
    stringIds: false,
    preferences: "materialization",
    modelAsString: false,
    foldsSends: true,
    contextWindowInUsage: false,
    reannounce: [1],
    evictsSubscribed: true,
    terminalAsEvent: true,
    busy: { code: 1308, message: "prompt is running" },
    busyInNotice: true,
    questionsInInput: false,
  },
  "0.15": {
    name: "0.15",
    version: "0.15.2",
    modern: false,
    stringIds: false,
    preferences: "never",
    modelAsString: true,
    foldsSends: true,
    contextWindowInUsage: true,
    reannounce: [1],
    evictsSubscribed: true,
    terminalAsEvent: true,
    busy: { code: 1308, message: "prompt is running" },
    busyInNotice: true,
    questionsInInput: true,
  },
};

export const ERA_NAMES = Object.keys(ERAS) as EraName[];

/** @throws a sentence that names the known eras. */
export function eraOf(name: string): Era {
  const era = (ERAS as Record<string, Era | undefined>)[name];
  if (!era) throw new Error(`Unknown era ${name}; there are ${ERA_NAMES.join(", ")}.`);
  return era;
}
