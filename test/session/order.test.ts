import { expect, test } from "bun:test";
import { EventOrder } from "../../src/session/order.ts";
import { eachSeed } from "../support/random.ts";

const event = (seq: number) => ({ seq });

test("B5 events in order pass at once; doubled and old ones are dropped; without a number nothing is held", () => {
  const order = new EventOrder();
  order.reset(4);
  expect(order.accept(5, event(5))).toEqual([event(5)]);
  expect(order.accept(5, event(5))).toEqual([]);
  expect(order.accept(3, event(3))).toEqual([]);
  expect(order.accept(undefined, { seq: "none" })).toEqual([{ seq: "none" }]);
  expect(order.lastSeq).toBe(5);
});

test("B5 a late event is waited for, and those behind it follow in order, each once", () => {
  const order = new EventOrder();
  order.reset(1);
  expect(order.accept(3, event(3))).toEqual([]);
  const hole = order.missing!;
  expect(order.accept(4, event(4))).toEqual([]);
  expect(order.accept(3, event(3))).toEqual([]);
  expect(order.accept(2, event(2))).toEqual([event(2), event(3), event(4)]);
  expect(order.missing).toBeUndefined();
  // An answer that comes after the hole has closed by itself changes nothing.
  expect(order.fill(hole, [{ seq: 2, params: event(2) }])).toEqual([]);
});

test("B5 a lost event is filled from the backend's log; what that does not have is waited for no longer", () => {
  const order = new EventOrder();
  order.reset(1);
  order.accept(4, event(4));
  expect(
    order.fill(
      order.missing!,
      [2, 3, 4, 5].map((seq) => ({ seq, params: event(seq) })),
    ),
  ).toEqual([2, 3, 4, 5].map(event));
  order.accept(8, event(8));
  expect(order.fill(order.missing!, undefined)).toEqual([event(8)]);
  // A build that leaves numbers out is not asked again.
  expect(order.accept(11, event(11))).toEqual([event(11)]);
  expect(order.missing).toBeUndefined();
});

test("B5 an event that the backend's log of this residency does not know is of another, and moves nothing", () => {
  const order = new EventOrder();
  order.reset(4);
  expect(order.accept(150, event(150))).toEqual([]);
  expect(order.accept(5, event(5))).toEqual([event(5)]);
  expect(order.fill(order.missing!, [{ seq: 5, params: event(5) }])).toEqual([]);
  expect(order.missing).toBeUndefined();
  expect(order.accept(6, event(6))).toEqual([event(6)]);
  expect(order.accept(151, event(151))).toEqual([]);
  expect(order.fill(order.missing!, [])).toEqual([]);
  expect(order.accept(7, event(7))).toEqual([event(7)]);
  // In a build that leaves numbers out the log has what came, and it is taken.
  expect(order.accept(9, event(9))).toEqual([]);
  expect(order.fill(order.missing!, [{ seq: 9, params: event(9) }])).toEqual([event(9)]);
});

test("B5 a new residency counts anew", () => {
  const order = new EventOrder();
  order.reset(1);
  order.accept(9, event(9));
  order.reset(0);
  expect(order.missing).toBeUndefined();
  expect(order.accept(1, event(1))).toEqual([event(1)]);
});

test("B5 where the numbers begin was told, another residency's late word does not move them; else the first is the first", () => {
  const told = new EventOrder();
  told.reset(0);
  expect(told.accept(57, event(57))).toEqual([]);
  expect(told.accept(1, event(1))).toEqual([event(1)]);
  expect(told.fill(told.missing!, [{ seq: 1, params: event(1) }])).toEqual([]);
  expect(told.accept(2, event(2))).toEqual([event(2)]);
  const untold = new EventOrder();
  untold.reset(undefined);
  expect(untold.accept(57, event(57))).toEqual([event(57)]);
  expect(untold.accept(58, event(58))).toEqual([event(58)]);
});

test("B5 however events are swapped, doubled and lost, with a true log nothing is lost, doubled or out of order", () => {
  eachSeed(200, (random) => {
    const order = new EventOrder();
    order.reset(0);
    const total = 60;
    const wire: number[] = [];
    for (let seq = 1; seq <= total; seq++) {
      if (seq > 1 && random.chance(0.15)) continue;
      wire.push(seq);
      if (random.chance(0.1)) wire.push(seq);
    }
    for (let i = 1; i + 1 < wire.length; i++) {
      if (random.chance(0.2)) [wire[i], wire[i + 1]] = [wire[i + 1]!, wire[i]!];
    }
    const out: number[] = [];
    const take = (ready: readonly { seq?: unknown }[]) =>
      out.push(...ready.map((entry) => Number(entry.seq)));
    for (const seq of wire) {
      take(order.accept(seq, event(seq)));
      const hole = order.missing;
      if (hole !== undefined && random.chance(0.5)) {
        const log = Array.from({ length: total }, (_, i) => i + 1).filter(
          (known) => known > order.lastSeq && known <= Math.max(...wire),
        );
        take(
          order.fill(
            hole,
            log.map((known) => ({ seq: known, params: event(known) })),
          ),
        );
      }
    }
    expect(out).toEqual([...out].sort((a, b) => a - b));
    expect(new Set(out).size).toBe(out.length);
  });
});
