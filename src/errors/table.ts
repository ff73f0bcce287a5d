/**
 * Every error that a person can see. A code is never used for another error, nor given out again. Sentence and
 * hint stand in `src/locale` under `error.NAME` and `error.NAME.hint`.
 */

/** What sort of failure it is, for whoever translates it into a protocol's own numbers. */
export type ErrorKind =
  | "backend"
  | "auth"
  | "provider"
  | "params"
  | "notFound"
  | "busy"
  | "usage"
  | "config"
  | "internal";

export const ERRORS = {
  backendNotFound: { code: "ZACP-101", kind: "backend" },
  backendTooOld: { code: "ZACP-102", kind: "backend" },
  backendFailed: { code: "ZACP-103", kind: "backend" },
  backendDied: { code: "ZACP-104", kind: "backend" },
  backendSilent: { code: "ZACP-105", kind: "backend" },
  backendAnswered: { code: "ZACP-106", kind: "backend" },
  unsupported: { code: "ZACP-107", kind: "backend" },
  bridgeClosing: { code: "ZACP-108", kind: "busy" },

  sessionUnknown: { code: "ZACP-201", kind: "notFound" },
  sessionBusy: { code: "ZACP-202", kind: "busy" },
  queueFull: { code: "ZACP-203", kind: "busy" },
  badPath: { code: "ZACP-204", kind: "params" },
  badOption: { code: "ZACP-205", kind: "params" },

  notSignedIn: { code: "ZACP-301", kind: "auth" },
  nothingSignedIn: { code: "ZACP-302", kind: "auth" },
  promptCaptcha: { code: "ZACP-311", kind: "provider" },
  promptQuota: { code: "ZACP-312", kind: "provider" },
  promptRate: { code: "ZACP-313", kind: "provider" },
  promptOverloaded: { code: "ZACP-314", kind: "provider" },
  promptNetwork: { code: "ZACP-315", kind: "provider" },
  promptContext: { code: "ZACP-316", kind: "provider" },
  promptModel: { code: "ZACP-317", kind: "provider" },
  promptFailed: { code: "ZACP-319", kind: "provider" },

  notInRelease: { code: "ZACP-401", kind: "usage" },
  unknownCommand: { code: "ZACP-402", kind: "usage" },
  unknownFlag: { code: "ZACP-403", kind: "usage" },
  badFlagValue: { code: "ZACP-404", kind: "usage" },
  badConfig: { code: "ZACP-411", kind: "config" },
  badConfigFile: { code: "ZACP-412", kind: "config" },
  loginFailed: { code: "ZACP-421", kind: "auth" },

  internal: { code: "ZACP-900", kind: "internal" },
} as const satisfies Record<string, { code: `ZACP-${number}`; kind: ErrorKind }>;

export type ErrorName = keyof typeof ERRORS;
