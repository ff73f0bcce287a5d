/**
 * Everyone who is attached. An update goes to every client, rendered at most once per style and serialised once
 * per style; a client that never heard of the conversation passes it over.
 */

import type { Update } from "../translate/updates.ts";
import { Client } from "./client.ts";
import { renderUpdate } from "./render.ts";

export class Clients {
  private readonly attached = new Set<Client>();
  /** Conversations whose turn runs, as it was told. */
  private readonly running = new Set<string>();

  /** @param onSent is told the kind of each update that leaves, its conversation and its size in characters. */
  constructor(private readonly onSent: (kind: string, id: string, size: number) => void = () => {}) {}

  add(client: Client): void {
    this.attached.add(client);
  }

  remove(client: Client): void {
    this.attached.delete(client);
  }

  get all(): readonly Client[] {
    return [...this.attached];
  }

  /**
   * @param id the conversation's first id, for clients that have none of their own.
   * @param except clients that are left out.
   */
  publish(id: string, update: Update, except?: ReadonlySet<object>): void {
    let fenced: string | undefined;
    let terminal: string | undefined;
    for (const client of this.attached) {
      if (!client.initialized || except?.has(client)) continue;
      let body: string | undefined;
      if (client.style.terminal) body = terminal ??= renderUpdate(update, client.style);
      else body = fenced ??= renderUpdate(update, client.style);
      if (body === undefined) continue;
      client.outlet.send(`${client.updateHead(id)}${body}}}`);
      this.onSent(update.kind, id, body.length);
    }
  }

  /** A turn of any kind begins or ends; told once each to those who have the conversation. */
  turn(id: string, running: boolean): void {
    if (this.running.has(id) === running) return;
    if (running) this.running.add(id);
    else this.running.delete(id);
    for (const client of this.attached) {
      const sessionId = client.knownId(id);
      if (!client.initialized || sessionId === undefined) continue;
      const params = { sessionId, running };
      client.outlet.send(JSON.stringify({ jsonrpc: "2.0", method: "$/zcode/turnState", params }));
    }
  }

  /** @returns what sends an update, as it is now, to one client alone. */
  hold(client: object, id: string, update: Update): () => void {
    if (!(client instanceof Client)) return () => {};
    const body = renderUpdate(update, client.style);
    return () => {
      if (body !== undefined) client.outlet.send(`${client.updateHead(id)}${body}}}`);
    };
  }

  /** An update for one client alone, such as a replay's. */
  publishTo(client: Client, id: string, update: Update): void {
    const body = renderUpdate(update, client.style);
    if (body !== undefined) client.outlet.send(`${client.updateHead(id)}${body}}}`);
  }

  /** A ready-made `update` field for one client alone. */
  publishBodyTo(client: Client, id: string, body: Readonly<Record<string, unknown>>): void {
    client.outlet.send(`${client.updateHead(id)}${JSON.stringify(body)}}}`);
  }

  /** A ready-made `update` field for everyone. */
  publishBody(id: string, body: Readonly<Record<string, unknown>>): void {
    const json = JSON.stringify(body);
    for (const client of this.attached) {
      if (client.initialized) client.outlet.send(`${client.updateHead(id)}${json}}}`);
    }
  }
}
