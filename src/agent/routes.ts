/** Which method of the protocol is answered by what. */

import { type AgentApp, agent } from "@agentclientprotocol/sdk/unstable";
import { obj, str } from "../platform/json.ts";
import type { Surface } from "./app.ts";
import { requestError, unlessCancelled } from "./failures.ts";

/** @param started is told of each request of a session that is begun with. */
export function agentApp(surface: Surface, started: (session: string) => void): AgentApp {
  const answered =
    <P, R>(run: (params: P, signal: AbortSignal) => R | Promise<R>) =>
    async ({ params, signal }: { params: P; signal: AbortSignal }): Promise<R> => {
      const session = str(obj(params).sessionId);
      try {
        if (session !== undefined) started(session);
        return await run(params, signal);
      } catch (error) {
        throw requestError(error, surface.language);
      }
    };
  const cancellable = <P, R>(run: (params: P, signal: AbortSignal) => R | Promise<R>) =>
    answered((params: P, signal) => unlessCancelled(signal, run, params));
  const app = agent({ name: "zcode-acp" })
    .onRequest(
      "session/prompt",
      answered((params, signal) =>
        surface.prompt(obj(params), (cancel) => {
          if (signal.aborted) cancel();
          else signal.addEventListener("abort", cancel, { once: true });
        }),
      ),
    )
    .onRequest(
      "initialize",
      cancellable((params) => surface.initialize(obj(params))),
    )
    .onRequest(
      "authenticate",
      cancellable(() => surface.authenticate()),
    )
    .onRequest(
      "session/new",
      cancellable((params) => surface.newSession(obj(params))),
    )
    .onRequest(
      "session/load",
      cancellable((params, signal) => surface.load(obj(params), signal)),
    )
    .onRequest(
      "session/resume",
      cancellable((params) => surface.resume(obj(params))),
    )
    .onRequest(
      "session/list",
      cancellable((params) => surface.list(obj(params))),
    )
    .onRequest(
      "session/close",
      cancellable((params) => surface.close(obj(params))),
    )
    .onRequest(
      "session/delete",
      cancellable((params) => surface.delete(obj(params))),
    )
    .onRequest(
      "session/set_mode",
      cancellable((params) => surface.setMode(obj(params))),
    )
    .onRequest(
      "session/set_config_option",
      cancellable((params) => surface.setOption(obj(params))),
    )
    .onNotification("session/cancel", ({ params }) => surface.cancel(obj(params)));
  for (const method of ["session/load_earlier", "_session/load_earlier"])
    app.onRequest(
      method,
      obj,
      cancellable((params, signal) => surface.loadEarlier(params, signal)),
    );
  for (const [name, run] of Object.entries(surface.extensions)) {
    // The underscore is what ACP reserves for extensions; older clients of this agent send the name without it.
    for (const method of [name, `_${name}`]) app.onRequest(method, obj, cancellable(run));
  }
  return app;
}
