/** A build that got its key when it was started: when it is started anew because somebody has signed in. */

import { expect, test } from "bun:test";
import { Backend } from "../../src/backend/backend.ts";
import type { Launch } from "../../src/backend/locate.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { PlayedServer } from "../support/bridge.ts";

test("A11 B10 it is started anew only where it lacked a key, the files changed what it is given, and nothing runs", async () => {
  let stamp = "1";
  let key: string | undefined;
  let restarts = 0;
  let lost = 0;
  const servers: PlayedServer[] = [];
  const launch = (): Launch => ({
    argv: ["zcode"],
    env: key === undefined ? {} : { ANTHROPIC_API_KEY: key },
    source: "PATH",
    entry: "zcode",
    versionArgv: [],
    builtinTable: undefined,
  });
  const backend = new Backend(
    {
      clock: systemClock(),
      rules: systemClock(),
      log: silentLog(),
      locate: async () => ({ launch: launch(), looked: [] }),
      versionOf: async () => undefined,
      spawn: () => {
        const server = new PlayedServer();
        servers.push(server);
        void server
          .take((frame) => frame.method === "runtime/capabilities")
          .then((probe) => server.push({ id: probe.id, result: {} }));
        return server;
      },
      credentials: () => {
        throw new Error("not asked");
      },
      credentialsStamp: () => stamp,
      provider: undefined,
      refusal: () => "",
    },
    {
      event: () => {},
      state: () => {},
      terminal: () => {},
      started: () => {},
      question: () => {},
      lost: () => {
        lost++;
      },
      restarting: () => {
        restarts++;
      },
    },
  );
  await backend.ready();
  const [yes, no] = [() => true, () => false];
  // Nothing was wrong: a change of the files is of no interest.
  stamp = "2";
  key = "new";
  expect(backend.beforePrompt(yes)).toBeUndefined();
  backend.noteLacksKey();
  // A turn runs elsewhere: not now, but once it does not.
  await backend.beforePrompt(no);
  expect([backend.generation, restarts]).toEqual([1, 0]);
  await backend.beforePrompt(yes);
  expect([backend.generation, restarts, lost]).toEqual([1, 1, 0]);
  await backend.ready();
  expect(backend.generation).toBe(2);
  // Lacking again, with files that changed in something else: it stays, and is not looked at again.
  backend.noteLacksKey();
  expect(backend.beforePrompt(yes)).toBeUndefined();
  stamp = "3";
  await backend.beforePrompt(yes);
  expect([backend.generation, restarts]).toEqual([2, 1]);
  expect(backend.beforePrompt(yes)).toBeUndefined();
  // A death of its own is still one.
  servers[1]!.die(1);
  await Bun.sleep(0);
  expect(lost).toBe(1);
  await backend.close();
});
