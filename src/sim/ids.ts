/**
 * Ids that look random and are not: all of them follow from the seed and from the generation, a number that a
 * process claims in the store. So a fresh store gives the same ids every time, and two processes on one store
 * never share one.
 */

/** 32-bit mixing step (splitmix). */
function mix(state: number): number {
  let z = (state + 0x9e3779b9) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}

function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}

const hex8 = (value: number) => value.toString(16).padStart(8, "0");

export class Ids {
  private state: number;
  private count = 0;
  private readonly salt: string;
  private eventCount = 0;
  private readonly eventPrefix: string;

  constructor(seed: number, generation: number) {
    this.state = hashText(`${seed}:${generation}`);
    this.salt = hex8(mix(hashText(`salt:${seed}:${generation}`)));
    this.eventPrefix = `${hex8(this.next())}-${hex8(this.next()).slice(0, 4)}-4${hex8(this.next()).slice(0, 3)}-a${hex8(this.next()).slice(0, 3)}-`;
  }

  /** A version 4 shaped uuid; the generation's salt and a counter in it make a repetition impossible. */
  uuid(): string {
    const a = hex8(this.next());
    const b = hex8(this.next());
    const n = hex8(++this.count);
    return `${a}-${b.slice(0, 4)}-4${b.slice(4, 7)}-8${this.salt.slice(0, 3)}-${this.salt.slice(3)}${n.slice(1)}`;
  }

  /** Twenty hexadecimal digits, as tool call ids have. */
  call(): string {
    return `call_${hex8(this.next())}${this.salt.slice(0, 4)}${hex8(++this.count)}`;
  }

  request(): string {
    return `req_${hex8(this.next())}${hex8(++this.count).slice(4)}`;
  }

  /** Cheap and unique: the ids of events are the only ones needed by the hundred thousand. */
  event(): string {
    return this.eventPrefix + (++this.eventCount).toString(16).padStart(12, "0");
  }

  /** A number below `bound` from the same stream. */
  below(bound: number): number {
    return this.next() % bound;
  }

  private next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    return mix(this.state);
  }
}
