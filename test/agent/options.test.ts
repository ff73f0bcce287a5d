import { describe, expect, test } from "bun:test";
import { zNewSessionResponse } from "../../node_modules/@agentclientprotocol/sdk/dist/v1/unstable/schema/zod.gen.js";
import { configOptions, modeIds, modeState } from "../../src/agent/options.ts";
import { Conversation } from "../../src/session/conversation.ts";
import {
  currentMode,
  MODES,
  type ModelChoice,
  NO_SETTINGS,
  type Settings,
} from "../../src/session/settings.ts";

const choice = (providerId: string, modelId: string, label: string, providerLabel?: string): ModelChoice => ({
  ref: { providerId, modelId },
  label,
  providerLabel,
  contextWindow: undefined,
  levels: [],
  defaultLevel: undefined,
});

function conversation(settings: Partial<Settings>): Conversation {
  const made = new Conversation("s", "/w", [], "p", "en");
  made.settings = { ...NO_SETTINGS, ...settings };
  return made;
}

const option = (id: string, settings: Partial<Settings>) =>
  configOptions(conversation(settings), "en").find((entry) => entry.id === id);

describe("mode", () => {
  test("A7 a new conversation is in the backend's own default, never in yolo", () => {
    expect(currentMode(NO_SETTINGS)).toBe("build");
    expect(option("mode", {})).toMatchObject({ type: "select", category: "mode", currentValue: "build" });
  });

  test("A7 the four modes are offered; one that the backend is in is always among them, once", () => {
    expect(modeIds(NO_SETTINGS)).toEqual([...MODES]);
    for (const mode of [...MODES, "auto", "guarded", "never heard of"]) {
      const ids = modeIds({ ...NO_SETTINGS, mode });
      expect(ids.filter((id) => id === mode)).toHaveLength(1);
      expect(ids.slice(0, 4)).toEqual([...MODES]);
      const state = modeState(conversation({ mode }), "en");
      expect(state.currentModeId).toBe(mode);
      expect(state.availableModes.map((entry) => entry.id)).toEqual(ids);
      for (const entry of state.availableModes) expect(entry.name).not.toBe("");
      expect(option("mode", { mode })?.options.map((entry) => entry.value)).toEqual(ids);
    }
  });

  test("A7 a mode named like a property of every object has a name of its own", () => {
    for (const mode of ["constructor", "toString", "__proto__"])
      expect(modeState(conversation({ mode }), "en").availableModes.at(-1)).toEqual({ id: mode, name: mode });
  });
});

describe("model", () => {
  const models = [
    choice("builtin:a", "glm-5", "GLM-5", "Plan A"),
    choice("b", "glm-5", "GLM-5"),
    choice("b", "small/fast", "Small"),
  ];

  test("A7 where no model is known there is no such option, and where one was chosen it is the one", () => {
    expect(configOptions(conversation({}), "en").map((entry) => entry.id)).toEqual(["mode"]);
    expect(option("model", { model: { providerId: "p", modelId: "m" } })).toMatchObject({
      currentValue: "p\\m",
      options: [{ value: "p\\m", name: "m" }],
    });
  });

  test("A7 values hold provider and model; twins are told apart by their provider", () => {
    expect(option("model", { models, model: { providerId: "b", modelId: "glm-5" } })).toMatchObject({
      category: "model",
      currentValue: "b\\glm-5",
      options: [
        { value: "builtin:a\\glm-5", name: "GLM-5 (Plan A)" },
        { value: "b\\glm-5", name: "GLM-5 (b)" },
        { value: "b\\small/fast", name: "Small" },
      ],
    });
  });

  test("A7 the current value is always among the options, a model that is gone too", () => {
    for (const model of [
      undefined,
      models[2]!.ref,
      { providerId: "gone", modelId: "x" },
      { providerId: "", modelId: "bare" },
    ]) {
      const entry = option("model", { models, model })!;
      expect(entry.options.map((value) => value.value)).toContain(entry.currentValue);
      expect(new Set(entry.options.map((value) => value.value)).size).toBe(entry.options.length);
    }
  });
});

test("A7 both forms are what the protocol's own schema takes, whole", () => {
  for (const settings of [
    {},
    { mode: "auto" },
    { models: [choice("p", "m", "M")], model: { providerId: "x", modelId: "y" } },
  ]) {
    const made = conversation(settings);
    const answer = { sessionId: "s", modes: modeState(made, "en"), configOptions: configOptions(made, "en") };
    expect(JSON.parse(JSON.stringify(zNewSessionResponse.parse(structuredClone(answer))))).toEqual(answer);
  }
});
