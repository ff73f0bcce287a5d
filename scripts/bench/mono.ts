/** One monotonic clock for several processes, in milliseconds; Bun's own ones start with each process. */
import { dlopen, FFIType, ptr } from "bun:ffi";

const CLOCK_MONOTONIC = process.platform === "darwin" ? 6 : 1;
const libc = dlopen(process.platform === "darwin" ? "libSystem.dylib" : "libc.so.6", {
  clock_gettime: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
});
const time = new BigInt64Array(2);

export function mono(): number {
  libc.symbols.clock_gettime(CLOCK_MONOTONIC, ptr(time));
  return Number(time[0]) * 1e3 + Number(time[1]) / 1e6;
}
