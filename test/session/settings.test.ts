import { describe, expect, test } from "bun:test";
import {
  findModel,
  foldSettings,
  modelValue,
  NO_SETTINGS,
  parseModel,
  type Settings,
} from "../../src/session/settings.ts";
import { eachSeed, someValue, WRONG_VALUES } from "../support/random.ts";

const available = (providerId: string, modelId: string, more: object = {}) => ({
  ref: { providerId, modelId },
  label: modelId.toUpperCase(),
  ...more,
});

const SNAPSHOT = {
  mode: { current: "plan" },
  model: {
    current: { providerId: "p", modelId: "m", options: { reasoningLevel: "high" } },
    available: [
      available("p", "m", {
        contextWindow: 200_000,
        providerLabel: "P",
        reasoning: { levels: [{ value: "low", label: "Low" }, "high"], defaultLevel: "low" },
      }),
      available("q", "m"),
      available("p", "off", { disabledReason: "not in your plan" }),
    ],
  },
  thoughtLevel: { enabled: true, current: "low", available: [] },
};

describe("folding", () => {
  test("A7 M7 a snapshot's settings, and those that older builds wrapped once more, say the same", () => {
    const settings = foldSettings(NO_SETTINGS, SNAPSHOT);
    expect(settings).toMatchObject({
      mode: "plan",
      model: { providerId: "p", modelId: "m" },
      thought: "low",
    });
    expect(settings.models).toEqual([
      {
        ref: { providerId: "p", modelId: "m" },
        label: "M",
        providerLabel: "P",
        contextWindow: 200_000,
        levels: ["low", "high"],
        defaultLevel: "low",
      },
      {
        ref: { providerId: "q", modelId: "m" },
        label: "M",
        providerLabel: undefined,
        contextWindow: undefined,
        levels: [],
        defaultLevel: undefined,
      },
    ]);
    expect(foldSettings(NO_SETTINGS, { settings: SNAPSHOT })).toEqual(settings);
  });

  test("A7 M7 what a patch does not name stays; one that names the current model alone shortens no list", () => {
    const settings = foldSettings(NO_SETTINGS, SNAPSHOT);
    expect(foldSettings(settings, {})).toEqual(settings);
    expect(foldSettings(settings, { status: "running" })).toEqual(settings);
    expect(foldSettings(settings, { mode: { current: "edit" } })).toEqual({ ...settings, mode: "edit" });
    const short = foldSettings(settings, {
      model: { current: { providerId: "q", modelId: "m" }, available: [available("q", "m")] },
    });
    expect(short.model).toEqual({ providerId: "q", modelId: "m" });
    expect(short.models).toEqual(settings.models);
    const longer = foldSettings(settings, {
      model: { available: [available("a", "1"), available("b", "2")] },
    });
    expect(longer.models.map((choice) => choice.ref.providerId)).toEqual(["a", "b"]);
    expect(longer.model).toEqual(settings.model);
  });

  test("A7 M7 a level comes with the model where it does not stand alone", () => {
    const { thoughtLevel: _, ...rest } = SNAPSHOT;
    expect(foldSettings(NO_SETTINGS, rest).thought).toBe("high");
  });

  test("A7 M7 patches of nonsense change nothing that was known and never throw", () => {
    const settings = foldSettings(NO_SETTINGS, SNAPSHOT);
    for (const wrong of WRONG_VALUES) {
      for (const patch of [
        { settings: wrong },
        { mode: wrong, model: wrong, thoughtLevel: wrong },
        { mode: { current: typeof wrong === "string" ? "" : wrong } },
        { model: { current: wrong, available: typeof wrong === "string" ? 5 : wrong } },
        { model: { current: { modelId: typeof wrong === "string" ? "" : wrong } } },
        { model: { available: [wrong, { ref: wrong }, { ref: { modelId: 7 } }] } },
      ])
        expect(foldSettings(settings, patch)).toEqual(settings);
    }
    eachSeed(1_000, (random) => {
      const folded = foldSettings(settings, {
        mode: someValue(random),
        model: { current: someValue(random), available: someValue(random) },
        thoughtLevel: someValue(random),
        ...(random.chance(0.3) ? { settings: someValue(random) } : {}),
      });
      expect(["string", "undefined"]).toContain(typeof folded.mode);
      for (const choice of folded.models) expect(typeof choice.ref.modelId).toBe("string");
    });
  });
});

describe("words for a model", () => {
  const settings: Settings = foldSettings(NO_SETTINGS, {
    model: {
      available: [
        available("account:big-plan", "GLM-5"),
        available("my/own", "glm-5"),
        available("q", "a/b:c"),
      ],
    },
  });
  const found = (value: string) => findModel(settings, value)?.ref;

  test.each([
    ["account:big-plan\\GLM-5", "account:big-plan", "GLM-5"],
    ["account:big-plan/GLM-5", "account:big-plan", "GLM-5"],
    ["custom:account%3Abig-plan:GLM-5", "account:big-plan", "GLM-5"],
    ["GLM-5", "account:big-plan", "GLM-5"],
    ["glm-5", "my/own", "glm-5"],
    ["my/own\\glm-5", "my/own", "glm-5"],
    ["my/own/glm-5", "my/own", "glm-5"],
    ["custom:my%2Fown:glm-5", "my/own", "glm-5"],
    ["q\\a/b:c", "q", "a/b:c"],
    ["custom:q:a/b:c", "q", "a/b:c"],
  ])("A7 %s is found", (value, providerId, modelId) => {
    expect(found(value)).toEqual({ providerId, modelId });
  });

  test.each(["", "Glm-5", "q\\glm-5", "account:big-plan", "\\GLM-5", "GLM-5 "])(
    "A7 %p names none",
    (value) => {
      expect(found(value)).toBeUndefined();
    },
  );

  test("A7 a value that was given out leads back to its model, with or without a list", () => {
    for (const { ref } of settings.models) {
      expect(found(modelValue(ref))).toEqual(ref);
      expect(parseModel(modelValue(ref))).toEqual(ref);
    }
  });

  test("P2 A7 without a list the form alone must name a provider", () => {
    expect(parseModel("p/m")).toEqual({ providerId: "p", modelId: "m" });
    expect(parseModel("p\\m/n")).toEqual({ providerId: "p", modelId: "m/n" });
    expect(parseModel("custom:a%20b:m:n")).toEqual({ providerId: "a b", modelId: "m:n" });
    for (const value of ["", "m", "custom:%zz:m", "/m", "p/", "\\m", "p\\"])
      expect(parseModel(value)).toBeUndefined();
  });
});
