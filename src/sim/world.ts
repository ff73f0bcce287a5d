/** The parts that the rooms of the simulator share, as one record; made in index.ts, by nobody else. */
import type { Clock } from "../platform/clock.ts";
import type { Commands } from "./commands.ts";
import type { Era } from "./era.ts";
import type { Ids } from "./ids.ts";
import type { Interactions } from "./interactions.ts";
import type { BrainMaker } from "./model.ts";
import type { Registry } from "./models.ts";
import type { Out } from "./out.ts";
import type { Pool } from "./pool.ts";
import type { Store } from "./store.ts";

export interface World {
  era: Era;
  /** The clock of rules: waits on it get shorter with the time scale. */
  clock: Clock;
  ids: Ids;
  out: Out;
  interactions: Interactions;
  registry: Registry;
  store: Store;
  pool: Pool;
  commands: Commands;
  env: Record<string, string | undefined>;
  settings: WorldSettings;
  /** What the model does with an input. */
  think: BrainMaker;
  /** The title that the model makes of a first prompt; empty for none. */
  makeTitle(input: string): string;
  /** Turns that the model of this process still has to fail, put there by the word `fail`. */
  failures: { kind: string; left: number; by: string };
  /** Ends the process with this code. */
  exit(code: number): void;
  /** Stops reading, writing and every answer; the process stays. */
  hang(): void;
  /** Writes one line to stderr. */
  warn(line: string): void;
}

/** Flags that rules look at while they run. */
export interface WorldSettings {
  /** Milliseconds between two pieces of text. */
  pace: number;
  /** The only key that account providers accept; undefined takes any. */
  expectKey: string | undefined;
  /** `session/stop` is answered and does nothing. */
  deafStop: boolean;
  /** `v4/command` `stop` is answered and does nothing. */
  deafV4Stop: boolean;
  /** Seconds that `session/create` takes. */
  slowCreate: number;
  /** A send behind a background turn gets a turn of its own instead of being drained into it. */
  ownTurn: boolean;
  /** So many reads of a restored session's messages give only a part of them. */
  prefixReads: number;
  /** `projection.status` stays at `running` after the first turn. */
  stuckStatus: boolean;
  /** `session/messages` holds answers twice. */
  duplicates: boolean;
  /** A session without a model gets the first one. */
  pickModel: boolean;
  /** Milliseconds between a tool result and the to-dos that it changed. */
  todoDelay: number;
}
