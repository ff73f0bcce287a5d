/** What a starting app-server tells before it is asked anything. */
import { createHash } from "node:crypto";
import type { World } from "./world.ts";

const PHASES = ["checking", "waiting_for_lock", "migrating", "committing", "ready"];

export function startNotices(world: World): void {
  if (!world.era.modern) return;
  const attemptId = world.ids.uuid();
  const databaseId = createHash("sha256").update(attemptId).digest("hex");
  const begun = world.clock.mono();
  PHASES.forEach((phase, i) => {
    world.out.notify("startup/storageState", {
      schemaVersion: 1,
      attemptId,
      sequence: i + 1,
      databaseId,
      databaseKind: "session",
      phase,
      elapsedMs: Math.round(world.clock.mono() - begun),
      ...(phase === "migrating" ? { completed: 1, total: 1, migration: "sim" } : {}),
    });
  });
}
