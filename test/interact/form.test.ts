/** Forms of questions: what is offered, and what a submitted one means. */

import { describe, expect, test } from "bun:test";
import { zCreateElicitationRequest } from "../../node_modules/@agentclientprotocol/sdk/dist/v1/unstable/schema/zod.gen.js";
import {
  accepted,
  type PersonQuestion,
  questionSchema,
  questionsOf,
  readForm,
  shown,
  valuesOf,
} from "../../src/interact/form.ts";
import type { Obj } from "../../src/platform/json.ts";
import { eachSeed, type Random, someText, someValue, WRONG_VALUES } from "../support/random.ts";

const question = (text: string, labels: readonly string[], multi = false): PersonQuestion => ({
  text,
  header: undefined,
  multi,
  choices: labels.map((label) => ({ label, description: undefined })),
});

const answer = (questions: readonly PersonQuestion[], content: unknown) => {
  const answers = readForm(questions, content);
  return answers && (accepted(questions, answers).content as Obj);
};

describe("one question", () => {
  const single = [question("Which?", ["A", "B"])];
  const multi = [question("Which ones?", ["A", "B, or so", "C"], true)];

  test("P12 P17 a choice, words of one's own, a skip and nothing at all", () => {
    expect(answer(single, { q_0: "B" })).toEqual({ answers: { "Which?": "B" } });
    expect(answer(single, { q_0: "B", q_0_other: " mine " })).toEqual({ answers: { "Which?": "mine" } });
    expect(answer(single, { q_0: "__skip__", q_0_other: "mine" })).toEqual({ answers: { "Which?": "mine" } });
    expect(answer(single, { q_0: "__skip__" })).toEqual({ answers: {} });
    for (const blank of [{}, undefined, null, { q_0: "", q_0_other: "  " }, { q_0: null, q_0_other: null }])
      expect(answer(single, blank)).toEqual({ answers: {} });
  });

  test("P12 P17 several choices are joined, one's own is added, and a comma in a label splits nothing", () => {
    expect(answer(multi, { q_0: ["A", "C"] })).toEqual({ answers: { "Which ones?": "A, C" } });
    expect(answer(multi, { q_0: ["A"], q_0_other: "D" })).toEqual({ answers: { "Which ones?": "A, D" } });
    expect(answer(multi, { q_0: ["A", "B, or so"] })).toEqual({
      answers: { "Which ones?": ["A", "B, or so"] },
    });
    expect(answer(multi, { q_0: ["B, or so"] })).toEqual({ answers: { "Which ones?": "B, or so" } });
    expect(answer(multi, { q_0: ["A", "A"] })).toEqual({ answers: { "Which ones?": "A" } });
    expect(answer(multi, { q_0: ["A", "__skip__"] })).toEqual({ answers: {} });
    expect(answer(multi, { q_0: ["__skip__"], q_0_other: "D" })).toEqual({ answers: { "Which ones?": "D" } });
    expect(answer(multi, { q_0: [] })).toEqual({ answers: {} });
  });

  test("P12 a question that is called as something which every object has is answered like any other", () => {
    for (const text of ["__proto__", "constructor", "toString"]) {
      const { answers } = answer([question(text, ["A", "B"])], { q_0: "B" })!;
      expect(JSON.stringify(answers)).toBe(JSON.stringify(JSON.parse(`{"${text}":"B"}`)));
    }
  });

  test("P17 what does not fit the form is no answer", () => {
    for (const wrong of [
      { q_0: "C" },
      { q_0: ["A"] },
      { q_0: 1 },
      { q_0: true },
      { q_0: {} },
      { q_0_other: 7 },
      { q_0_other: ["x"] },
      [],
      "A",
      7,
    ])
      expect(readForm(single, wrong)).toBeUndefined();
    for (const wrong of [{ q_0: "A" }, { q_0: ["A", "X"] }, { q_0: [1] }, { q_0: [["A"]] }])
      expect(readForm(multi, wrong)).toBeUndefined();
    // What the form does not have is of no interest.
    expect(answer(single, { q_0: "A", q_9: "z", extra: {} })).toEqual({ answers: { "Which?": "A" } });
  });

  test("P17 P12 labels that repeat, look like plumbing, or are very long stand for themselves alone", () => {
    const long = "x".repeat(5_000);
    const strange = question("Q", ["Same", "Same", "__skip__", "option_1", "a:yes", long, "", "  "]);
    const [read] = questionsOf({
      questions: [{ question: "Q", options: strange.choices.map(({ label }) => ({ label, value: label })) }],
    });
    // Blank ones are no answers that anybody could give.
    expect(read!.choices.map(({ label }) => label)).toEqual([
      "Same",
      "Same",
      "__skip__",
      "option_1",
      "a:yes",
      long,
    ]);
    const values = valuesOf(read!);
    expect(new Set([...values, "__skip__"]).size).toBe(values.length + 1);
    for (const [i, value] of values.entries())
      expect(answer([read!], { q_0: value })).toEqual({ answers: { Q: read!.choices[i]!.label } });
    expect(answer([read!], { q_0: "__skip__" })).toEqual({ answers: {} });
    const schema = questionSchema([read!], "en");
    for (const { title } of (schema.properties as Record<string, { oneOf: { title: string }[] }>).q_0!.oneOf)
      expect(title.length).toBeLessThanOrEqual(200);
  });
});

test("P12 P17 a long label is shown up to its place, and no character of it is halved", () => {
  for (const pad of ["", "x"]) {
    const [question] = questionsOf({ questions: [{ question: "Q", options: [pad + "😀".repeat(2_500)] }] });
    const label = shown(question!.choices[0]!.label);
    expect(label.isWellFormed()).toBe(true);
    expect(label).toEndWith("😀…");
    expect(label.length).toBeLessThanOrEqual(200);
  }
});

test("P12 questions stand where a build puts them, with labels or values or words alone", () => {
  const asked = {
    question: "Q",
    multiSelect: true,
    options: [{ label: "L", value: "v" }, { value: "only" }, "word"],
  };
  for (const params of [
    { questions: [asked] },
    { input: { questions: [asked] } },
    { questions: [], input: { questions: [asked] } },
  ]) {
    expect(questionsOf(params)).toEqual([
      {
        text: "Q",
        header: undefined,
        multi: true,
        choices: [
          { label: "L", description: undefined },
          { label: "only", description: undefined },
          { label: "word", description: undefined },
        ],
      },
    ]);
  }
  for (const nothing of [{}, { questions: 7 }, { questions: [7, null] }, { input: [] }])
    expect(questionsOf(nothing)).toEqual([]);
});

test("P12 two questions of one text are answered by their places", () => {
  const twins = [question("Q", ["A"]), question("Q", ["B"]), question("other", ["C"])];
  expect(answer(twins, { q_0: "A", q_1: "B", q_2: "C" })).toEqual({
    answers: { other: "C" },
    answer_0: "A",
    answer_1: "B",
  });
});

function someQuestions(random: Random): Obj {
  const questions = random.times(random.int(0, 5), () => ({
    question: random.pick(["Q", "Q", someText(random), ""]),
    header: someText(random, 2),
    multiSelect: random.pick([true, false, undefined, 1]),
    options: random.times(random.int(0, 40), () =>
      random.pick([
        { label: someText(random, 3), value: someText(random, 1) },
        { label: random.pick(["A", "B", "A:yes", "__skip__", "option_2", "z".repeat(5_000)]) },
        someText(random, 2),
        random.pick(WRONG_VALUES),
      ]),
    ),
  }));
  return random.chance(0.5) ? { questions } : { input: { questions } };
}

test("P12 P17 any questions: the form is one that the protocol knows, and whatever is picked in it comes back as that label", () => {
  eachSeed(300, (random) => {
    const questions = questionsOf(someQuestions(random));
    const requestedSchema = questionSchema(questions, "en");
    const request = { mode: "form", sessionId: "s", message: "m", requestedSchema };
    expect(zCreateElicitationRequest.safeParse(request).success).toBe(true);
    const content: Record<string, unknown> = {};
    const wanted: (string[] | undefined)[] = questions.map((each, i) => {
      const values = valuesOf(each);
      if (values.length === 0 || random.chance(0.2)) return undefined;
      const picked = [
        ...new Set(random.times(each.multi ? random.int(1, 3) : 1, () => random.int(0, values.length - 1))),
      ];
      content[`q_${i}`] = each.multi ? picked.map((n) => values[n]) : values[picked[0]!];
      return [...new Set(picked.map((n) => each.choices[n]!.label))];
    });
    expect(readForm(questions, content)).toEqual(wanted);
  });
});

test("P17 whatever a form holds, it is read or refused, and never as something that was not offered", () => {
  eachSeed(300, (random) => {
    const questions = questionsOf(someQuestions(random));
    const content = Object.fromEntries(
      questions.flatMap((_, i) => [
        [`q_${i}`, someValue(random)],
        [`q_${i}_other`, random.chance(0.5) ? "" : someValue(random)],
      ]),
    );
    const answers = readForm(questions, random.chance(0.1) ? someValue(random) : content);
    for (const [i, labels] of (answers ?? []).entries()) {
      const other = content[`q_${i}_other`];
      const known: unknown[] = [
        ...questions[i]!.choices.map(({ label }) => label),
        typeof other === "string" ? other.trim() : "",
      ];
      for (const label of labels ?? []) expect(known).toContain(label);
    }
  });
});
