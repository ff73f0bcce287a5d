/**
 * What a person typed, and what the agent is sent for it. The agent reads a leading slash as a command of its own, and
 * does not know skills by their names, so some words leave changed; each change can be taken back, since the person's
 * own words are what every replay, title and list shows.
 */

/** A zero-width space: it shows nowhere, and no command begins with it. */
const UNSEEN = "\u200b";
const BEHIND = `\n\n${UNSEEN}The message above calls the skill "`;

/** Words that begin like a command, or like what we put before one, and are none. */
export function plainWords(typed: string): string {
  return UNSEEN + typed;
}

/** True where what was typed would be taken for what we put before it: it leaves as plain words, to come back whole. */
export function startsUnseen(typed: string): boolean {
  return typed.startsWith(UNSEEN);
}

/** Words that call a skill: the agent loads it before it answers them. */
export function skillWords(skill: string, typed: string): string {
  return (
    `${UNSEEN}${typed}${BEHIND}${skill}". ` +
    `Load that skill with the Skill tool first; what stands behind its name are its arguments. Then do what it says.`
  );
}

/** What was typed, of words that were stored. */
export function typedWords(stored: string): string {
  if (!stored.startsWith(UNSEEN)) return stored;
  const behind = stored.lastIndexOf(BEHIND);
  return stored.slice(UNSEEN.length, behind > 0 ? behind : undefined);
}

/** What was typed, of a title that the agent made of a message's first words: lines are joined in it, and it may be cut. */
export function typedTitle(title: string): string {
  if (!title.startsWith(UNSEEN)) return title;
  return title.slice(UNSEEN.length).replace(/\s+\u200b[\s\S]*$/, "");
}
