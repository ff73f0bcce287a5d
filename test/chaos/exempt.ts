/**
 * What the bridge is known to do wrong and is not held against it yet. Each has a name and goes when its cause does;
 * `ZCODE_ACP_CHAOS_STRICT=1` exempts nothing.
 */

const strict = process.env.ZCODE_ACP_CHAOS_STRICT === "1";

export const EXEMPT = {
  /**
   * Which backend session stands behind a new conversation is written down beside its first turn, and a first turn that
   * ends before that is answered all the same: a bridge that is killed right then has an answered prompt in a session
   * that the conversation's id does not lead to. (`Residence.createSession` waits for no `saveAlias`.)
   */
  lateRecord: !strict,
  /**
   * A turn that fails says so in its last event, and once more in `turn.terminal`, which names no kind. Where that event is
   * late or lost, nothing behind it shows the hole: the prompt fails as by an unknown cause and is not tried again.
   * (`Intake.terminal` does not look for what the log has behind the last event.)
   */
  lostFailure: !strict,
};

/** How long after its first answer a conversation may still be lost like that, in ms; a write is forced to the disk. */
export const LATE_RECORD_MS = 500;
