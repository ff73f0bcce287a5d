/** What a start is measured against: the SDK, `initialize`, and nothing else. */
import { agent, ndJsonStream } from "@agentclientprotocol/sdk/unstable";

const output = Bun.stdout.writer();
const writable = new WritableStream<Uint8Array>({
  async write(chunk) {
    output.write(chunk);
    await output.flush();
  },
});

const connection = agent({ name: "bare" })
  .onRequest("initialize", () => ({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] }))
  .connect(ndJsonStream(writable, Bun.stdin.stream()));
await connection.closed;
process.exit(0);
