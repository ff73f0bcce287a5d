/**
 * One conversation: everything that belongs to it and to no other. A record is reached only through the
 * registry; whoever holds one may ask whether it still is the registered one.
 */

import type { Language } from "../locale/index.ts";
import type { Timer } from "../platform/clock.ts";
import type { Obj } from "../platform/json.ts";
import type { Choice } from "../store/remembered.ts";
import { newTaskBook } from "../tasks/background.ts";
import { newTranslateState, type TranslateState } from "../translate/events.ts";
import { Repeats } from "../translate/repeat.ts";
import { newTurnState, type Outcome, type TimerName, type TurnState } from "../turn/machine.ts";
import type { Earlier } from "./history.ts";
import { LiveLog } from "./live.ts";
import type { Asked } from "./models.ts";
import { EventOrder } from "./order.ts";
import { NO_SETTINGS, type Settings } from "./settings.ts";
import type { Tally } from "./tally.ts";

/** What `session/send` carries besides the session. */
export interface PromptContent {
  readonly content: string;
  readonly attachments: readonly Obj[];
}

export interface PendingPrompt {
  readonly prompt: PromptContent;
  readonly settle: (outcome: Outcome) => void;
  /** The last try of it that was on its way; -1 before the first. */
  attempt: number;
  /** It was taken once; later tries are the same prompt. */
  taken: boolean;
}

/** Settings that a person chose. */
export type Wish = Choice;

/** An update that waits for a load of one client, or for several of them. */
export interface HeldBack {
  readonly tell: () => void;
  told: boolean;
}

export interface Reader {
  readonly client: object;
  /** What was said since the load was on its way. */
  readonly held: HeldBack[];
  /** So many of these, the first ones, are in the history that it is about to show. */
  covered: number;
  /** There while the history is being shown: shows what is left of it at once. */
  finish: (() => void) | undefined;
}

export class Conversation {
  // What each event touches stands together: with many conversations at once most of it is in no cache any more.
  /** True while it is the registered one; the registry's to set. */
  registered = false;
  /** Counts cold resumes: `seq` starts anew with each. */
  residency = 0;
  readonly order = new EventOrder();
  /** The running turn has said something since it was last looked at. */
  spoke = false;
  /** A turn that was given up: what it still says is dropped. */
  muted: string | undefined;
  /** The turn that compacts, or did last. */
  compaction: string | undefined;
  /** Turns of earlier residencies that were left running: what they still say is not of this one. */
  foreign: Set<string> | undefined;
  translate: TranslateState;
  /** What the active prompt has said in its tries, by kind of text. */
  readonly repeats = { agent: new Repeats(), thought: new Repeats() };
  /** Every ACP id that names it; the first is the one it was made or loaded under. */
  readonly aliases = new Set<string>();
  /** The backend's id once there is one. */
  backendId: string | undefined;
  /** The backend process in which its session is resident; 0 for none. */
  residentIn = 0;
  /** What came while events were missing, to be done after them. */
  readonly behind: (() => void)[] = [];
  settings: Settings = NO_SETTINGS;
  /** Chosen before first use, to ride in `session/create`, or while the backend could not take it. */
  wanted: Wish = {};
  /** What a person chose since the backend stores nothing of it: written down, where a restart would lose it. */
  chosen: Wish = {};
  choiceNoted = false;
  /** The last change of a setting that is not made yet; the next one comes after it. */
  changing: Promise<void> | undefined;
  /** What the session under way was asked to be made with. */
  asked: Asked | undefined;
  title = "";
  /** A person chose the title. */
  titlePinned = false;
  /** True once a prompt of it was taken: it is stored, and can be resumed. */
  prompted = false;
  turns: TurnState;
  readonly tasks = newTaskBook();
  readonly prompts = new Map<number, PendingPrompt>();
  readonly timers = new Map<TimerName, Timer>();
  /** The last state revision of this residency and of the one before; undefined where none was told. */
  revision: number | undefined;
  formerRevision: number | undefined;
  /** A prompt has ended since the context's size was last looked at. */
  grown = false;
  /** Deaths of the backend in a row in which this conversation had a prompt or a resume in flight. */
  deaths = 0;
  /** Inputs of ours that the backend queued behind a turn of its own: its id for each. */
  readonly queuedInputs = new Map<string, string>();
  /** A second look at the to-do list that is due. */
  rereading: Timer | undefined;
  /** Loads that are about to show a client the history; the same client may have several. */
  readonly readers = new Set<Reader>();
  /** What the running turn has shown. */
  readonly live = new LiveLog();
  /** What is known of its history; undefined before that was read. */
  tally: Tally | undefined;
  /** What was read for a page, and serves others. */
  earlier: Earlier | undefined;
  /** How often its history became another one: compacted, or cut. */
  cuts = 0;
  /** When a resume brought its history last; milliseconds of real time. */
  restoredAt = Number.NEGATIVE_INFINITY;
  /** Turns of any kind that have ended. */
  ends = 0;
  /** When its session was last known to be resident; milliseconds of the rules' clock. */
  trustedAt = 0;
  nextKey = 1;
  /** Its resume or create is with the backend, and does not merely wait for others'. */
  bringingUp = false;
  /** The one resume or create under way, shared by all who need it. */
  opening: Promise<Obj | undefined> | undefined;
  createdAt = 0;
  /** Its backend session is being written down beside its id. */
  recording: Promise<void> | undefined;

  /**
   * @param id the ACP id under which it is known first.
   * @param cwd its root, without a trailing slash.
   * @param mcpServers in the backend's shape.
   * @param inputPrefix makes the ids of its prompts unique over restarts.
   * @param language of what we say of its tools.
   */
  constructor(
    readonly id: string,
    readonly cwd: string,
    public mcpServers: readonly Obj[],
    inputPrefix: string,
    language: Language,
  ) {
    this.aliases.add(id);
    this.translate = newTranslateState(cwd, language);
    this.turns = newTurnState(inputPrefix);
  }
}
