/** `v4/command`: never an error of the protocol, always an acknowledgement with a status. */

import { lateBrain } from "../background.ts";
import type { Live } from "../session.ts";
import { settingsChanged } from "../snapshot.ts";
import { runTurn } from "../turn.ts";
import { isObj, type Obj } from "../types.ts";
import type { World } from "../world.ts";
import { cancelTask } from "./turns.ts";
import type { Handlers, Reply } from "./types.ts";

const KEYS = [
  "commandId",
  "clientId",
  "sessionId",
  "workspaceId",
  "type",
  "payload",
  "issuedAt",
  "baseRevision",
  "baseLogEpoch",
];

async function command(world: World, params: Obj): Promise<Reply> {
  const raw: unknown = params;
  const commandId = isObj(raw) && typeof raw.commandId === "string" ? raw.commandId : "";
  const live = isObj(raw) && typeof raw.sessionId === "string" ? world.pool.peek(raw.sessionId) : undefined;
  const ack = (status: string, more: Obj = {}, after?: () => void): Reply => ({
    result: { commandId, status, ...more, revisionAtDecision: live?.revision ?? 0 },
    ...(after ? { after } : {}),
  });
  const well =
    isObj(raw) &&
    commandId !== "" &&
    typeof raw.clientId === "string" &&
    typeof raw.type === "string" &&
    isObj(raw.payload) &&
    typeof raw.issuedAt === "number" &&
    Object.keys(raw).every((key) => KEYS.includes(key));
  if (!well)
    return ack("rejected", { reasonCode: "proto.invalidPayload", message: "The envelope is malformed." });
  const payload = raw.payload as Obj;
  const sessionId = String(raw.sessionId);
  if (raw.type === "deleteSession") {
    if (!live && !world.store.read(sessionId))
      return ack("rejected", { reasonCode: "proto.sessionNotFound" });
    live?.turn?.abort.abort();
    if (live) live.data.prompted = false;
    world.pool.remove(sessionId);
    world.store.remove(sessionId);
    return ack("accepted");
  }
  if (!live) {
    return ack("rejected", {
      reasonCode: "proto.sessionNotFound",
      message: `Session not found: ${sessionId}`,
    });
  }
  world.pool.get(live.id);
  switch (raw.type) {
    case "stop":
      return stop(world, live, payload, ack);
    case "renameSession": {
      if (typeof payload.title !== "string") return ack("rejected", { reasonCode: "proto.invalidPayload" });
      live.data.prompted ||= live.data.messages.length > 0;
      live.setTitle(payload.title, "custom");
      return ack("accepted");
    }
    case "sendText":
      return sendText(live, payload, ack);
    case "cancelBackgroundWork":
      return ack("accepted", { result: await cancelTask(world, live, String(payload.workId)) });
    case "switchCollaborationMode": {
      if (raw.baseRevision !== live.revision) return ack("stale", { reasonCode: "guard.revisionChanged" });
      const previousMode = live.data.mode;
      live.data.mode = String(payload.mode);
      settingsChanged(world, live, "mode_changed", { mode: live.data.mode, previousMode, source: "command" });
      return ack("accepted");
    }
    default:
      return ack("rejected", {
        reasonCode: "proto.unsupported",
        message: `The simulator has no ${raw.type}.`,
      });
  }
}

type Ack = (status: string, more?: Obj, after?: () => void) => Reply;

/** Stops whatever runs, a notification's turn too, unless another turn was meant. */
function stop(world: World, live: Live, payload: Obj, ack: Ack): Reply {
  const { turn } = live;
  const expected = payload.expectedForegroundExecutionId;
  if (typeof expected === "string" && turn?.foregroundExecutionId !== expected) {
    return ack("noop", { reasonCode: "guard.stopTargetChanged" });
  }
  if (world.settings.deafV4Stop) return ack("accepted");
  if (!turn) return ack("noop", { reasonCode: "guard.nothingRuns" });
  return ack("accepted", {}, () => {
    live.held = live.pendingInputs.length > 0;
    turn.abort.abort();
  });
}

function sendText(live: Live, payload: Obj, ack: Ack): Reply {
  const text = payload.text;
  if (typeof text !== "string") return ack("rejected", { reasonCode: "proto.invalidPayload" });
  const wanted = payload.requestedDelivery ?? "queue";
  if (!live.turn) {
    if (live.lock) return ack("rejected", { reasonCode: "guard.busy" });
    live.lock = "prompt";
    live.data.prompted = true;
    live.stateUpdated("prompt_started", { status: "running" });
    return ack(
      "accepted",
      {},
      () => void runTurn(live, { kind: "prompt", input: text, brain: lateBrain(live, text) }),
    );
  }
  const delivery = wanted === "guide" ? "guide" : "queue";
  const pendingInputId = `pending_${live.world.ids.uuid()}`;
  live.held = false;
  live.pendingInputs.push({ pendingInputId, text, delivery, locks: false });
  live.turn.event("turn.steerQueued", {
    pendingInputId,
    input: text,
    inputPreview: text.slice(0, 200),
    inputSize: text.length,
    delivery,
    targetTurnId: live.turn.id,
    queueLength: live.pendingInputs.length,
  });
  return ack("accepted", {}, wanted === "startNow" ? () => live.turn?.abort.abort() : undefined);
}

export const v4Handlers: Handlers = { "v4/command": command };
