/**
 * The watchdog: one small shell per bridge process that outlives the bridge by a moment and takes along
 * whatever the bridge started. It sleeps in `read` until its pipe ends, which happens however the bridge
 * dies, SIGKILL included.
 *
 * It detaches itself twice (own session, adopted by init), so that neither a signal to the bridge's group
 * nor an editor that kills the bridge's whole tree of processes reaches it.
 */
import { writeSync } from "node:fs";
import type { Clock } from "./clock.ts";

/** The variable by which descendants are recognised; its value lists one marker per nested bridge. */
export const TREE_VARIABLE = "ZCODE_ACP_INTERNAL_TREE";

/** `$0` of the watchdog, so that a person who looks at the process list knows what it is. */
export const WATCHDOG_NAME = "zcode-acp-watchdog";

/**
 * Lines on descriptor 3: `m NONCE`, `+ PID BORN`, `- PID`, `q` (leave without killing), `e` (as the pipe's end).
 * At the end of the pipe, passes are made until eight in a row found nothing: a process that the bridge was just starting
 * shows its marker only after its exec. The first pass collects the whole tree before it kills anything,
 * because a parent's death hides its children.
 *
 * BORN is compared before a group is killed: another process may have got the number since. A pid whose
 * leader is gone is safe, since a group's number is not given out again while the group has members.
 * Some greps (busybox) stop at the first NUL of an environment; those get it line by line.
 * `sleep .05` fails on the oldest shells' tools, which only makes the passes follow faster.
 */
export const WATCHDOG = `trap '' TERM HUP INT
( set -f
born() {
  if [ -r /proc/self/stat ]; then
    b=$(cat "/proc/$1/stat" 2>/dev/null); b=\${b##*)}; set -- $b; b=\${20-}
  else b=$(LC_ALL=C ps -o lstart= -p "$1" 2>/dev/null | tr -cd 0-9A-Za-z); fi
}
marked() {
  if [ -r /proc/self/stat ]; then
    set +f; set -- /proc/[0-9]*/environ; set -f
    if [ -n "$whole" ]; then l=$(grep -slF -e "$m" "$@")
    else l=; for f; do tr '\\0' '\\n' <"$f" | grep -qF -e "$m" && l="$l $f"; done; fi
    t=; for f in $l; do f=\${f#/proc/}; t="$t \${f%%/*}"; done
  else
    t=$(ps -axEww -o pid= -o command= | while read -r p c; do case $c in *"$m"*) echo "$p";; esac; done)
  fi
}
tree() {
  if [ -r /proc/self/stat ]; then set +f; l=$(grep -s '^PPid:' /proc/[0-9]*/status); set -f
  else l=$(ps -ax -o pid= -o ppid=); fi
  r=; p=
  for x in $l; do
    if [ -z "$p" ]; then p=\${x#/proc/}; p=\${p%%/*}; else r="$r $p:$x"; p=; fi
  done
  more=1
  while [ -n "$more" ]; do
    more=
    for x in $r; do
      case $s in *" \${x#*:} "*) case $s in *" \${x%%:*} "*) ;; *) s="$s\${x%%:*} "; more=1;; esac;; esac
    done
  done
}
m=; g=
while read -r o i a; do
  case $o in
    m) m=$i;;
    +) if [ -z "$a" ]; then born "$i"; a=$b; fi; g="$g $i:$a";;
    -) n=; for e in $g; do [ "\${e%%:*}" = "$i" ] || n="$n $e"; done; g=$n;;
    q) exit 0;;
    e) break;;
  esac
done
[ -n "$m" ] || exit 0
whole=; printf 'a\\0b' | grep -qF b && whole=1
passes=0; clean=0
while [ $passes -lt 30 ] && [ $clean -lt 8 ]; do
  k=; for e in $g; do born "\${e%%:*}"; if [ -z "$b" ] || [ "$b" = "\${e#*:}" ]; then k="$k \${e%%:*}"; fi; done
  marked
  s=" "; for p in $k $t; do s="$s$p "; done
  if [ $passes = 0 ] || [ -n "$t" ]; then tree; fi
  for p in $s; do kill -KILL "-$p"; kill -KILL "$p"; done 2>/dev/null
  if [ -n "$t" ]; then clean=0; else clean=$((clean + 1)); fi
  passes=$((passes + 1)); sleep .05
done
) <&3 3<&- >/dev/null 2>&1 &`;

export interface Guard {
  readonly clock: Clock;
  /** Makes sure that the watchdog runs. `spawnGroup` calls it before it starts anything. */
  arm(): void;
  /** A marker for one more tree, unique on this machine; the watchdog knows all of this guard's markers. */
  marker(): string;
  /** Registers a group leader. */
  add(pid: number, born?: string): void;
  /** Forgets a group that is known to be gone. */
  remove(pid: number): void;
  /** Ends the watchdog; it kills what is still registered, and leaves quietly when nothing is. */
  close(): void;
  /** The secret part that all markers of this guard share; for tests. */
  readonly nonce: string;
}

/** The guard of this process. Nothing runs before the first `arm`. */
export function createGuard(clock: Clock): Guard {
  return process.platform === "win32" ? new NoGuard(clock) : new ShellGuard(clock);
}

/** A watchdog that is killed again and again is given up after this many. */
const MAX_STARTS = 5;

interface Watchdog {
  /** The writing end of its pipe. */
  readonly fd: number;
  /** Kept, because collecting it would close the pipe. */
  readonly owner: unknown;
}

function startWatchdog(): Watchdog | undefined {
  // Its environment holds no marker of an outer bridge: it must outlive that one's sweep to do its own.
  const owner = Bun.spawn(["/bin/sh", "-c", WATCHDOG, WATCHDOG_NAME, String(process.pid)], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    detached: true,
    cwd: "/",
    env: { PATH: `/usr/bin:/bin:/usr/sbin:/sbin:${process.env.PATH ?? ""}` },
  });
  owner.unref();
  const fd = owner.stdio[3];
  return typeof fd === "number" ? { fd, owner } : undefined;
}

class ShellGuard implements Guard {
  readonly nonce = crypto.randomUUID().replaceAll("-", "");
  private readonly groups = new Map<number, string | undefined>();
  private watchdog: Watchdog | undefined;
  private starts = 0;
  private trees = 0;
  private closed = false;

  constructor(readonly clock: Clock) {}

  arm(): void {
    if (this.closed) return;
    if (this.watchdog) {
      // An empty line means nothing to the watchdog, and fails here when it has been killed.
      this.tell("");
      return;
    }
    if (++this.starts > MAX_STARTS) return;
    try {
      this.watchdog = startWatchdog();
    } catch {
      // No shell here: the ends that this process lives to see are still covered by `killTree`.
    }
    this.tell(`m ${this.nonce}`);
    for (const [pid, born] of this.groups) this.tell(registration(pid, born));
  }

  marker(): string {
    // Ends in a full stop so that the first tree's marker is not found inside the tenth's.
    return `${this.nonce}-${++this.trees}.`;
  }

  add(pid: number, born?: string): void {
    this.groups.set(pid, born);
    this.tell(registration(pid, born));
  }

  remove(pid: number): void {
    if (this.groups.delete(pid)) this.tell(`- ${pid}`);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.tell(this.groups.size === 0 ? "q" : "e");
    this.watchdog = undefined;
  }

  /** Synchronous, so that the line is in the kernel before whatever it announces happens. */
  private tell(line: string): void {
    if (!this.watchdog) return;
    try {
      writeSync(this.watchdog.fd, `${line}\n`);
    } catch {
      // Somebody killed it. A new one is told everything, unless that fails too.
      this.watchdog = undefined;
      if (!this.closed) this.arm();
    }
  }
}

function registration(pid: number, born: string | undefined): string {
  return born === undefined ? `+ ${pid}` : `+ ${pid} ${born}`;
}

/** Windows: no process groups and no shell; the end of a child's stdin has to do there. */
class NoGuard implements Guard {
  readonly nonce = crypto.randomUUID().replaceAll("-", "");
  private trees = 0;
  constructor(readonly clock: Clock) {}
  arm(): void {}
  marker(): string {
    return `${this.nonce}-${++this.trees}.`;
  }
  add(): void {}
  remove(): void {}
  close(): void {}
}
