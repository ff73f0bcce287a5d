/**
 * Neutral updates to ACP's `session/update` payloads, one rendering per style. Each function answers the JSON of
 * the `update` field, or undefined where that style has nothing to say.
 */

import { t } from "../locale/index.ts";
import type { SentFile } from "../translate/plumbing.ts";
import type { Diff, ToolCard, Update } from "../translate/updates.ts";

/** What makes clients see the same update differently. */
export interface Style {
  /** Shows live terminals: output is appended by `_meta.terminal_output`. Others get a fenced block. */
  readonly terminal: boolean;
}

export const STYLES: readonly Style[] = [{ terminal: false }, { terminal: true }];

/** Everything before the text of a chunk is the same for all chunks of a role. */
const HEAD = {
  agent: '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":',
  thought: '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":',
  user: '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":',
} as const;

/** @returns the JSON of the `update` field. */
export function renderUpdate(update: Update, style: Style): string | undefined {
  switch (update.kind) {
    case "text": {
      const { messageId } = update;
      const head = HEAD[update.role] + JSON.stringify(update.text);
      return messageId === undefined ? `${head}}}` : `${head}},"messageId":${JSON.stringify(messageId)}}`;
    }
    case "tool":
      return renderTool(update, style);
    case "file":
      return JSON.stringify({
        sessionUpdate: "user_message_chunk",
        content: fileContent(update.file),
        ...(update.messageId === undefined ? {} : { messageId: update.messageId }),
      });
    case "fold":
      return JSON.stringify({
        sessionUpdate: "tool_call",
        toolCallId: update.id,
        title: t(`fold.${update.fold}`, {}, update.language),
        kind: "other",
        status: "completed",
        content: [textContent(fenced(update.text, ""))],
        _meta: { zcode: { collapsed: true, kind: update.fold } },
      });
    case "plan":
      return JSON.stringify({ sessionUpdate: "plan", entries: update.entries });
    case "usage":
      return `{"sessionUpdate":"usage_update","used":${update.used},"size":${update.size}}`;
    case "title":
      return JSON.stringify({ sessionUpdate: "session_info_update", title: update.title });
    case "mode":
      return JSON.stringify({ sessionUpdate: "current_mode_update", currentModeId: update.mode });
  }
}

function renderTool(update: Extract<Update, { kind: "tool" }>, style: Style): string | undefined {
  const { card } = update;
  const terminal = card.command && style.terminal;
  switch (update.change) {
    case "opened":
      return JSON.stringify({
        sessionUpdate: "tool_call",
        ...cardFields(card),
        content: terminal ? [terminalContent(card)] : cardContent(card),
        _meta: { ...cardMeta(card), ...(terminal ? { terminal_info: { terminal_id: card.id } } : {}) },
      });
    case "changed":
      return JSON.stringify({
        sessionUpdate: "tool_call_update",
        ...cardFields(card),
        content: terminal ? [terminalContent(card)] : cardContent(card),
        _meta: cardMeta(card),
      });
    case "status":
      // A dialog may have replaced the card's content by its own.
      return JSON.stringify({
        sessionUpdate: "tool_call_update",
        toolCallId: card.id,
        status: card.status,
        content: terminal ? [terminalContent(card)] : cardContent(card),
        _meta: cardMeta(card),
      });
    case "output":
      if (terminal) {
        return JSON.stringify({
          sessionUpdate: "tool_call_update",
          toolCallId: card.id,
          _meta: { terminal_output: { terminal_id: card.id, data: update.appended } },
        });
      }
      return JSON.stringify({
        sessionUpdate: "tool_call_update",
        toolCallId: card.id,
        content: [textContent(fenced(update.soFar, "console"))],
        _meta: cardMeta(card),
      });
    case "closed":
      return JSON.stringify({
        sessionUpdate: "tool_call_update",
        toolCallId: card.id,
        status: card.status,
        title: card.title,
        content: terminal ? [terminalContent(card), ...failureContent(card)] : cardContent(card),
        ...(card.locations.length > 0 ? { locations: card.locations } : {}),
        ...(card.exitCode ? { rawOutput: { exitCode: card.exitCode } } : {}),
        _meta: {
          ...cardMeta(card),
          ...(terminal
            ? {
                terminal_exit: {
                  terminal_id: card.id,
                  exit_code: card.exitCode ?? (card.status === "completed" ? 0 : null),
                  signal: card.signal ?? null,
                },
              }
            : {}),
        },
      });
  }
}

/** The parts of a card that every full rendering repeats, ACP's `ToolCall` without content. */
export function cardFields(card: ToolCard): Record<string, unknown> {
  return {
    toolCallId: card.id,
    title: card.title,
    kind: card.kind,
    status: card.status,
    ...(card.locations.length > 0 ? { locations: card.locations } : {}),
    ...(card.rawInput === undefined ? {} : { rawInput: card.rawInput }),
  };
}

/** Remote clients pick icons by the raw tool name; a sub-agent's result rides here as well. */
export function cardMeta(card: ToolCard): Record<string, unknown> {
  return {
    claudeCode: {
      toolName: card.name,
      ...(card.parentId === undefined ? {} : { parentToolUseId: card.parentId }),
    },
    ...(card.subagent === undefined ? {} : { subagent: card.subagent }),
    ...(card.task === undefined
      ? {}
      : { backgroundTask: { taskId: card.task.id, ...(card.task.cancelled ? { cancelled: true } : {}) } }),
  };
}

/** A card's content for a client without live terminals. */
export function cardContent(card: ToolCard): unknown[] {
  const parts: unknown[] = card.diffs.map(diffContent);
  if (card.command) {
    if (card.output !== "") parts.push(textContent(fenced(card.output, "console")));
    if (card.exitCode !== undefined && card.exitCode !== 0)
      parts.push(textContent(t("tool.exitCode", { code: card.exitCode }, card.language)));
  } else if (card.output !== "") {
    parts.push(textContent(card.outputStyle === "code" ? fenced(card.output, "") : card.output));
  }
  parts.push(...failureContent(card));
  return parts;
}

function failureContent(card: ToolCard): unknown[] {
  return card.failure && card.failure !== card.output ? [textContent(card.failure)] : [];
}

/** An image whose bytes are there is shown, what a client can open is linked, anything else is named. */
function fileContent({ name, mime, url }: SentFile): unknown {
  const image = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=]+)$/.exec(url);
  if (image) return { type: "image", mimeType: image[1], data: image[2] };
  if (!/^(?:https?|file):/i.test(url)) return { type: "text", text: `[${name || mime || "file"}]` };
  return {
    type: "resource_link",
    name: name || url,
    uri: url,
    ...(mime === undefined ? {} : { mimeType: mime }),
  };
}

function terminalContent(card: ToolCard): unknown {
  return { type: "terminal", terminalId: card.id };
}

function diffContent(diff: Diff): unknown {
  return { type: "diff", path: diff.path, oldText: diff.oldText, newText: diff.newText };
}

export function textContent(text: string): unknown {
  return { type: "content", content: { type: "text", text } };
}

/** A code block whose fence is longer than any run of backticks inside. */
export function fenced(body: string, language: string): string {
  const longest = (body.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${body.replace(/\n$/, "")}\n${fence}`;
}
