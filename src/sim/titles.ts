/** Titles: the first words of the first prompt, and after the first turn one that the model made. */

import type { Live } from "./session.ts";
import { askForHeaders } from "./step.ts";
import type { Turn } from "./turn.ts";

/** The first 57 characters and `...` when there are more than 60. */
export function firstInputTitle(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 57)}...` : line;
}

/** A short title that looks made: the first words, without the marks of the simulator's own words. */
export function madeTitle(text: string): string {
  const words = text
    .replace(/[;`"']/g, " ")
    .trim()
    .split(/\s+/)
    .slice(0, 5)
    .join(" ");
  return words ? words.charAt(0).toUpperCase() + words.slice(1) : "";
}

/** After the first turn of a person; an account provider is asked for its headers once more. */
export async function titleAfterTurn(live: Live, turn: Turn): Promise<void> {
  const { world, data } = live;
  if (!world.era.modern || !live.titleGeneration || data.titleSource !== "first_input") return;
  live.titleGeneration = false;
  const title = world.makeTitle(turn.spec.input);
  if (!title) return;
  try {
    await askForHeaders(turn, undefined);
  } catch {
    return;
  }
  world.clock.after(world.settings.pace, () => {
    if (world.pool.peek(live.id) !== live || data.titleSource !== "first_input") return;
    live.setTitle(title, "generated", turn.messageId);
  });
}
