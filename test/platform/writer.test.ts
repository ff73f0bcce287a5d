import { describe, expect, test } from "bun:test";
import { type ByteSink, LineWriter } from "../../src/platform/writer.ts";
import { eachSeedAsync, type Random } from "../support/random.ts";

/** A stream that blocks and fails when it is told to; what it took is kept. */
class TestSink implements ByteSink {
  readonly blocks: string[] = [];
  ended = 0;
  /** Decides before each write. */
  mood: () => "take" | "block" | "throw" | "reject" = () => "take";
  private waiting: { resolve(count: number): void; reject(error: Error): void } | undefined;
  flushFails = false;

  write(data: string | Uint8Array): number | Promise<number> {
    const text = String(data);
    const mood = this.mood();
    if (mood === "throw") throw new Error("EPIPE");
    if (mood === "take") {
      this.blocks.push(text);
      return text.length;
    }
    if (this.waiting) throw new Error("written to while blocked");
    return new Promise<number>((resolve, reject) => {
      this.waiting = {
        resolve: () => {
          this.blocks.push(text);
          resolve(text.length);
        },
        reject,
      };
      if (mood === "reject") this.fail();
    });
  }

  get blocked(): boolean {
    return this.waiting !== undefined;
  }

  drain(): void {
    const waiting = this.waiting;
    this.waiting = undefined;
    waiting?.resolve(0);
  }

  fail(): void {
    const waiting = this.waiting;
    this.waiting = undefined;
    waiting?.reject(new Error("EPIPE"));
  }

  flush(): number | Promise<number> {
    return this.flushFails ? Promise.reject(new Error("EPIPE")) : 0;
  }

  end(): void {
    this.ended++;
  }

  get text(): string {
    return this.blocks.join("");
  }
}

const ticks = async (count = 4) => {
  for (let i = 0; i < count; i++) await Promise.resolve();
};

const line = (random: Random, n: number) => `${n}:${"x".repeat(random.int(0, 30))}`;

for (const eager of [false, true]) {
  const name = eager ? "eager" : "joined";

  test(`A14 ${name}: through a stream that blocks at random every line leaves once and in order, and pending is what has not left`, async () => {
    await eachSeedAsync(400, async (random) => {
      const sink = new TestSink();
      sink.mood = () => (random.chance(0.4) ? "block" : "take");
      const errors: unknown[] = [];
      const writer = new LineWriter(sink, (error) => errors.push(error), eager);
      let wrote = "";
      let idle = 0;
      for (let n = 0; n < random.int(1, 60); n++) {
        const text = line(random, n);
        writer.write(text);
        wrote += `${text}\n`;
        expect(writer.pending).toBe(wrote.length - sink.text.length);
        expect(writer.blocked).toBe(sink.blocked);
        if (random.chance(0.3)) await ticks();
        if (random.chance(0.3)) {
          sink.drain();
          await ticks();
          expect(writer.pending).toBe(wrote.length - sink.text.length);
        }
        if (random.chance(0.1)) void writer.idle().then(() => idle++);
        else idle++;
      }
      const asked = idle;
      const done = writer.idle().then(() => true);
      for (let i = 0; i < 200 && (writer.pending > 0 || sink.blocked); i++) {
        await ticks();
        sink.drain();
      }
      expect(await done).toBe(true);
      await ticks();
      expect(idle).toBeGreaterThanOrEqual(asked);
      expect(sink.text).toBe(wrote);
      expect(writer.pending).toBe(0);
      expect(writer.blocked).toBe(false);
      expect(errors).toEqual([]);
    });
  });

  test(`${name}: a stream that fails at random tells its error once; what left before is whole lines in order, nothing follows`, async () => {
    await eachSeedAsync(400, async (random) => {
      const sink = new TestSink();
      let failed = false;
      sink.mood = () => {
        if (failed) throw new Error("written to after it failed");
        const roll = random.next();
        if (roll < 0.1) {
          failed = true;
          return random.pick(["throw", "reject"] as const);
        }
        return roll < 0.4 ? "block" : "take";
      };
      const errors: unknown[] = [];
      const writer = new LineWriter(sink, (error) => errors.push(error), eager);
      let wrote = "";
      for (let n = 0; n < 60; n++) {
        const text = line(random, n);
        writer.write(text);
        wrote += `${text}\n`;
        if (random.chance(0.4)) {
          await ticks();
          sink.drain();
          await ticks();
        }
      }
      for (let i = 0; i < 200 && (sink.blocked || writer.pending > 0); i++) {
        await ticks();
        sink.drain();
      }
      await writer.idle();
      expect(errors).toHaveLength(failed ? 1 : 0);
      expect(wrote.startsWith(sink.text)).toBe(true);
      expect(sink.text === "" || sink.text.endsWith("\n")).toBe(true);
      expect(writer.pending).toBe(0);
      if (!failed) expect(sink.text).toBe(wrote);
      if (!failed) return;
      writer.write("late");
      await ticks();
      expect(writer.pending).toBe(0);
      expect(errors).toHaveLength(1);
    });
  });
}

describe("joining", () => {
  test("lines of one tick leave in one block, those of the next in another", async () => {
    const sink = new TestSink();
    const writer = new LineWriter(sink);
    writer.write("a");
    writer.write("b");
    expect(sink.blocks).toEqual([]);
    await writer.idle();
    writer.write("c");
    await writer.idle();
    expect(sink.blocks).toEqual(["a\nb\n", "c\n"]);
  });

  test("eager, each line leaves at once; while the stream is full the rest is joined", async () => {
    const sink = new TestSink();
    const writer = new LineWriter(sink, () => {}, true);
    writer.write("a");
    writer.write("b");
    expect(sink.blocks).toEqual(["a\n", "b\n"]);
    sink.mood = () => "block";
    writer.write("c");
    sink.mood = () => "take";
    writer.write("d");
    writer.write("e");
    expect(sink.blocks).toEqual(["a\n", "b\n"]);
    sink.drain();
    await writer.idle();
    expect(sink.blocks).toEqual(["a\n", "b\n", "c\n", "d\ne\n"]);
  });

  test("A14 blocks stop growing near a million characters, and a longer line is one block", async () => {
    const sink = new TestSink();
    const writer = new LineWriter(sink);
    const big = "x".repeat(400 * 1024);
    for (let i = 0; i < 7; i++) writer.write(big);
    writer.write("y".repeat(3 * 1024 * 1024));
    writer.write("z");
    await writer.idle();
    const lengths = sink.blocks.map((block) => block.length);
    expect(lengths.slice(0, 2)).toEqual([3 * (big.length + 1), 3 * (big.length + 1)]);
    expect(sink.text).toBe(`${`${big}\n`.repeat(7)}${"y".repeat(3 * 1024 * 1024)}\nz\n`);
  });
});

describe("the end", () => {
  test("closing gives the stream what is queued, ends it once, and drops what comes later", async () => {
    const sink = new TestSink();
    const writer = new LineWriter(sink);
    writer.write("a");
    writer.write("b");
    writer.close();
    writer.close();
    expect(sink.text).toBe("a\nb\n");
    expect(sink.ended).toBe(1);
    writer.write("late");
    await ticks();
    expect(sink.text).toBe("a\nb\n");
    expect(sink.ended).toBe(1);
  });

  test("A14 closing a stream that is full waits for nobody, and whoever waits for idle is let go", async () => {
    const sink = new TestSink();
    sink.mood = () => "block";
    const writer = new LineWriter(sink);
    writer.write("a");
    await ticks();
    writer.write("b");
    let idle = false;
    void writer.idle().then(() => {
      idle = true;
    });
    await ticks();
    expect(idle).toBe(false);
    writer.close();
    await ticks();
    expect(idle).toBe(true);
    expect(sink.ended).toBe(1);
    sink.drain();
    await ticks();
    expect(sink.text).toBe("a\n");
  });

  test("a flush that fails, and an end that throws, are told once", async () => {
    const errors: unknown[] = [];
    const sink = new TestSink();
    sink.flushFails = true;
    const writer = new LineWriter(sink, (error) => errors.push(error));
    writer.write("a");
    await writer.idle();
    await ticks();
    sink.end = () => {
      throw new Error("EBADF");
    };
    writer.close();
    await ticks();
    expect(errors).toHaveLength(1);

    const thrown: unknown[] = [];
    const other = new TestSink();
    other.end = () => {
      throw new Error("EBADF");
    };
    new LineWriter(other, (error) => thrown.push(error)).close();
    expect(thrown).toHaveLength(1);
  });

  test("an error callback that writes again neither loops nor is called twice", async () => {
    const sink = new TestSink();
    sink.mood = () => "throw";
    let told = 0;
    const writer: LineWriter = new LineWriter(sink, () => {
      told++;
      writer.write("more");
    });
    writer.write("a");
    await writer.idle();
    await ticks();
    expect(told).toBe(1);
    expect(writer.pending).toBe(0);
  });
});

test("R46 there is no room while more waits than some megabytes, until it is taken, or the other side is gone", async () => {
  for (const end of ["taken", "failed", "closed"] as const) {
    const sink = new TestSink();
    sink.mood = () => "block";
    const writer = new LineWriter(sink);
    expect(writer.room()).toBeUndefined();
    for (let n = 0; n < 10; n++) writer.write("x".repeat(1024 * 1024));
    await Promise.resolve();
    let roomy = false;
    void writer.room()?.then(() => {
      roomy = true;
    });
    await Bun.sleep(0);
    expect(roomy).toBe(false);
    if (end === "taken") {
      sink.mood = () => "take";
      sink.drain();
    } else if (end === "failed") sink.fail();
    else writer.close();
    await Bun.sleep(0);
    expect(roomy).toBe(true);
    expect(writer.room()).toBeUndefined();
  }
});
