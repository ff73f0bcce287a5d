/**
 * A question's form: a field to choose from and one to write into for each question, none required. The schema allows no
 * field that is both. Pure; what a person sees comes from the table of sentences.
 */

import { type Language, t } from "../locale/index.ts";
import { cut } from "../platform/cut.ts";
import { isObj, list, type Obj, obj, str, text } from "../platform/json.ts";

export interface Choice {
  readonly label: string;
  readonly description: string | undefined;
}

export interface PersonQuestion {
  readonly text: string;
  readonly header: string | undefined;
  readonly multi: boolean;
  /** With labels that are not blank: a blank answer is none. */
  readonly choices: readonly Choice[];
}

/** The questions of an `interaction/requestUserInput`, wherever a build puts them. */
export function questionsOf(params: Obj): PersonQuestion[] {
  const own = list(params.questions);
  const source = own.length > 0 ? own : list(obj(params.input).questions);
  return source.filter(isObj).map((question) => ({
    text: text(question.question) ?? text(question.header) ?? "",
    header: text(question.header),
    multi: question.multiSelect === true,
    choices: list(question.options).flatMap((option): Choice[] => {
      const label = str(option) ?? str(obj(option).label) ?? str(obj(option).value) ?? "";
      return label.trim() === "" ? [] : [{ label, description: text(obj(option).description) }];
    }),
  }));
}

/** What was answered to each question: labels, or words of a person's own. Undefined leaves the question out. */
export type Answers = readonly (readonly string[] | undefined)[];

/** Leaves a question out; never told to the backend. */
const SKIP = "__skip__";
/** A longer label is no value of its own, and is shown up to here. */
const LABEL_CHARS = 200;

export function shown(label: string): string {
  return cut(label, LABEL_CHARS);
}

/** The value that stands for each choice of a question: its label, where that is short and stands for it alone. */
export function valuesOf({ choices }: PersonQuestion): string[] {
  const labels = choices.map(({ label }) => label);
  const taken = new Set(labels);
  taken.add(SKIP);
  return labels.map((label, index) => {
    const alone = labels.indexOf(label) === labels.lastIndexOf(label);
    if (alone && label !== SKIP && label.length <= LABEL_CHARS) return label;
    let value = `option_${index + 1}`;
    while (taken.has(value)) value += "_";
    taken.add(value);
    return value;
  });
}

/** The `requestedSchema` of an elicitation. */
export function questionSchema(questions: readonly PersonQuestion[], language: Language): Obj {
  const properties: Record<string, Obj> = {};
  for (const [i, question] of questions.entries()) {
    const title = question.text === "" ? t("question.untitled", { number: i + 1 }, language) : question.text;
    if (question.choices.length > 0) {
      const values = valuesOf(question);
      const options = question.choices.map(({ label, description }, index) => ({
        const: values[index],
        title: shown(label),
        ...(description === undefined ? {} : { description }),
      }));
      options.push({ const: SKIP, title: t("question.skip", {}, language) });
      properties[`q_${i}`] = question.multi
        ? { type: "array", title, items: { anyOf: options } }
        : { type: "string", title, oneOf: options };
    }
    properties[`q_${i}_other`] = {
      type: "string",
      title:
        question.choices.length === 0
          ? title
          : t(question.multi ? "question.other.multi" : "question.other", {}, language),
    };
  }
  return { type: "object", properties, required: [] };
}

/** @returns what a submitted form says; undefined where it does not fit the form. */
export function readForm(questions: readonly PersonQuestion[], content: unknown): Answers | undefined {
  if (content !== undefined && content !== null && !isObj(content)) return undefined;
  const fields = obj(content);
  const answers: (readonly string[] | undefined)[] = [];
  for (const [i, question] of questions.entries()) {
    const picked = picks(question, fields[`q_${i}`]);
    const other = fields[`q_${i}_other`] ?? "";
    if (picked === "wrong" || typeof other !== "string") return undefined;
    const words = other.trim();
    if (words !== "") {
      const before = question.multi && picked !== "skip" ? picked : [];
      answers.push([...before, words]);
    } else answers.push(picked === "skip" || picked.length === 0 ? undefined : picked);
  }
  return answers;
}

function picks(question: PersonQuestion, value: unknown): readonly string[] | "skip" | "wrong" {
  if (value === undefined || value === null || value === "") return [];
  if (question.multi !== Array.isArray(value)) return "wrong";
  const values = valuesOf(question);
  const labels: string[] = [];
  let skip = false;
  for (const each of question.multi ? list(value) : [value]) {
    if (each === SKIP) {
      skip = true;
      continue;
    }
    const index = typeof each === "string" ? values.indexOf(each) : -1;
    const choice = question.choices[index];
    if (!choice) return "wrong";
    if (!labels.includes(choice.label)) labels.push(choice.label);
  }
  return skip ? "skip" : labels;
}

/** Several labels as one answer; with a comma in one of them they would be other labels, and stay apart. */
export function joined(labels: readonly string[]): string | readonly string[] {
  return labels.length > 1 && labels.some((label) => label.includes(",")) ? labels : labels.join(", ");
}

/** What the backend is answered: labels by the question's text, or by its place where two have the same text. */
export function accepted(questions: readonly PersonQuestion[], answers: Answers): Obj {
  const byText = new Map<string, string | readonly string[]>();
  const byPlace: Record<string, string | readonly string[]> = {};
  for (const [i, question] of questions.entries()) {
    const labels = answers[i];
    if (labels === undefined) continue;
    const value = joined(labels);
    const twins = questions.filter((other) => other.text === question.text).length;
    if (twins > 1 || question.text === "") byPlace[`answer_${i}`] = value;
    else byText.set(question.text, value);
  }
  // Entries, since a text may be a name that every object has.
  return { action: "accept", content: { answers: Object.fromEntries(byText), ...byPlace } };
}
