/**
 * English. Keys are dotted paths: `error.NAME` and `error.NAME.hint` belong to the table in `src/errors`.
 * A hint says what to do next, in the imperative.
 */
export const en = {
  "mode.build": "Build",
  "mode.build.about": "Works on its own and asks before risky steps.",
  "mode.edit": "Accept edits",
  "mode.edit.about": "Edits files without asking; asks before commands.",
  "mode.plan": "Plan",
  "mode.plan.about": "Reads and thinks, and shows a plan before it changes anything.",
  "mode.yolo": "Full access",
  "mode.yolo.about": "Does everything without asking.",
  "option.mode": "Mode",
  "option.model": "Model",
  "option.thought": "Thinking",

  "auth.agent": "Credentials of ZCode",
  "auth.agent.about": "Uses the account or API key that ZCode is signed in with on this machine.",
  "auth.terminal": "Sign in with the ZCode command line",
  "auth.terminal.about": "Runs ZCode's own sign-in in a terminal.",

  "headers.start-plan":
    "The start plan works only inside the ZCode app; choose an individual coding plan or an API key.",
  "headers.team-coding-plan":
    "A team coding plan works only inside the ZCode app; choose an individual coding plan or an API key.",
  "headers.off-peak":
    "Off-peak requests work only inside the ZCode app; choose an individual coding plan or an API key.",
  "headers.no-key": "No key of this plan was found; open ZCode once and sign in.",
  "headers.unknown-plan": "This plan is not known here; choose an individual coding plan or an API key.",

  "permission.allow": "Allow",
  "permission.deny": "Deny",
  "permission.noSession": "The question belongs to no conversation that is open here.",
  "permission.cancelled": "The turn was stopped.",
  "permission.dismissed": "The question was dismissed without an answer.",
  "question.unsupported": "This client cannot show questions yet.",

  "error.backendNotFound": "ZCode was not found. Looked for: {looked}.",
  "error.backendNotFound.hint":
    "Install ZCode, or set ZCODE_BIN to its path; `zcode-acp doctor` shows what is there, and `--backend sim` works without ZCode.",
  "error.backendTooOld": "ZCode {found} is too old; {needed} or newer is needed.",
  "error.backendTooOld.hint": "Update ZCode, or point ZCODE_BIN at a newer one.",
  "error.backendFailed": "ZCode could not be started ({entry}): {why}",
  "error.backendFailed.hint": "Run `zcode-acp doctor`.",
  "error.backendDied": "ZCode stopped in the middle of its work.{tail}",
  "error.backendDied.hint": "Send the prompt again: it starts anew and the conversation goes on.",
  "error.backendSilent": "ZCode did not answer {method} in time.",
  "error.backendSilent.hint":
    "Try again; if it stays silent, restart the conversation and run `zcode-acp doctor`.",
  "error.backendAnswered": "ZCode refused {method}: {message}",
  "error.backendAnswered.hint": "Try again; if it is refused again, run `zcode-acp doctor`.",
  "error.unsupported": "This ZCode cannot do that: {what} needs {needs}.",
  "error.unsupported.hint": "Update ZCode.",
  "error.bridgeClosing": "This agent is shutting down.",
  "error.bridgeClosing.hint": "Open the conversation again.",

  "error.sessionUnknown": "There is no conversation {id} here.",
  "error.sessionUnknown.hint": "Choose one from the list, or begin a new one.",
  "error.sessionBusy": "This conversation is still working on the prompt before.",
  "error.sessionBusy.hint": "Wait for it to end, or stop it.",
  "error.queueFull": "Too many prompts wait in this conversation.",
  "error.queueFull.hint": "Wait for some of them to end, or stop the running one.",
  "error.badPath": "{path} is not an absolute path.",
  "error.badPath.hint": "Open a folder in the editor and begin a new conversation there.",
  "error.badOption": "{value} is not a choice for {option}.",
  "error.badOption.hint": "Choose one of the offered values.",

  "error.notSignedIn": "The provider refused the credentials: {message}",
  "error.notSignedIn.hint": "Sign in with ZCode (`zcode-acp login`), then send the prompt again.",
  "error.nothingSignedIn": "No provider is set up. Looked at: {files}.",
  "error.nothingSignedIn.hint":
    "Sign in with ZCode or enter an API key there (`zcode-acp login`); no restart is needed.",
  "error.promptCaptcha": "The provider wants a person to confirm being one: {message}",
  "error.promptCaptcha.hint": "Open the ZCode app, send a prompt there, then try again.",
  "error.promptQuota": "The quota is used up: {message}",
  "error.promptQuota.hint": "Wait for the quota to renew, or choose another model or provider.",
  "error.promptRate": "The provider takes no more requests for a moment: {message}",
  "error.promptRate.hint": "Wait a little and send the prompt again.",
  "error.promptOverloaded": "The provider is overloaded: {message}",
  "error.promptOverloaded.hint": "Wait a little and send the prompt again, or choose another model.",
  "error.promptNetwork": "The provider could not be reached: {message}",
  "error.promptNetwork.hint":
    "Check the network and the proxy (ZCODE_HTTP_PROXY), then send the prompt again.",
  "error.promptContext": "The conversation is too long for the model: {message}",
  "error.promptContext.hint": "Compact the conversation with /compact, or begin a new one.",
  "error.promptModel": "The model cannot be used: {message}",
  "error.promptModel.hint": "Choose another model.",
  "error.promptFailed": "The turn failed: {message}",
  "error.promptFailed.hint": "Send the prompt again; if it fails again, run `zcode-acp doctor`.",

  "error.notInRelease": "`zcode-acp {command}` is not in this release yet; it comes in a later one.",
  "error.notInRelease.hint": "`zcode-acp --help` lists what works.",
  "error.unknownCommand": "There is no command `{name}`.",
  "error.unknownCommand.hint": "Did you mean `{nearest}`? `zcode-acp --help` lists all.",
  "error.unknownFlag": "`zcode-acp {command}` has no flag `{flag}`.",
  "error.unknownFlag.hint": "Did you mean `{nearest}`? `zcode-acp {command} --help` lists all.",
  "error.badFlagValue": "`{flag}` does not take `{value}`: {why}.",
  "error.badFlagValue.hint": "`zcode-acp {command} --help` shows what it takes.",
  "error.badConfig": "{where} is ignored: {why}.",
  "error.badConfig.hint": "Correct it or remove it; the README lists every setting.",
  "error.badConfigFile": "{path} is ignored: {why}.",
  "error.badConfigFile.hint": "Correct the file, or remove it to go on with the defaults.",
  "error.loginFailed": "ZCode's own sign-in could not be started: {why}",
  "error.loginFailed.hint":
    "Open the ZCode app and sign in there, or enter an API key in its settings; zcode-acp reads the credentials anew at each prompt.",
  "error.internal": "zcode-acp failed inside ({name}).",
  "error.internal.hint": "Please report it, with the newest file of the state directory's logs.",
} as const;

export type SentenceKey = keyof typeof en;
