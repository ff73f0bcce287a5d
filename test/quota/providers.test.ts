/** What each provider may answer, and what it then counts as. */

import { afterAll, describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { phrase } from "../../src/locale/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { Web } from "../../src/quota/ask.ts";
import { askGlm } from "../../src/quota/glm.ts";
import { accountOf, askOllama, nextAnniversary, readOllama } from "../../src/quota/ollama.ts";
import { askOpencode } from "../../src/quota/opencode.ts";
import { UsageBody } from "../../src/quota/schema.ts";
import type { Answer } from "../../src/quota/types.ts";
import { type Answerer, GLM_BODY, KEYS, OPENCODE_PAGE, RESET, startProviders } from "../support/providers.ts";
import { eachSeedAsync, someValue } from "../support/random.ts";

const providers = startProviders();
afterAll(() => providers.stop());

const web: Web = { clock: systemClock(), fetch: (url, init) => fetch(url, init) };
/** Deadlines pass at once. */
const hurried: Web = { ...web, clock: { ...web.clock, after: (ms, run) => web.clock.after(ms / 100, run) } };

const ask = {
  glm: (through = web) =>
    askGlm(through, {
      provider: { id: "builtin:zai-coding-plan", apiKey: KEYS.glm, baseUrl: undefined },
      origin: providers.glm.origin,
    }),
  opencode: (through = web) =>
    askOpencode(through, {
      workspaceId: "wrk/1",
      authCookie: KEYS.cookie,
      origin: providers.opencode.origin,
    }),
  ollama: (through = web) => askOllama(through, { apiKey: KEYS.ollama, origin: providers.ollama.origin }),
};

type Name = keyof typeof ask;
const NAMES = Object.keys(ask) as Name[];

async function answered(name: Name, answer: Answerer, through = web): Promise<Answer> {
  const before = providers[name].answer;
  providers[name].answer = answer;
  try {
    return await ask[name](through);
  } finally {
    providers[name].answer = before;
  }
}

const kindOf = async (name: Name, answer: Answerer, through = web) =>
  (await answered(name, answer, through)).section.kind;

describe("what a provider says well", () => {
  test("Q1 R29 GLM: its windows, counts and details, asked for with the key", async () => {
    const { section } = await ask.glm();
    expect(section).toEqual({
      kind: "success",
      level: "pro",
      items: [
        { key: "token_5h", label: "5h", usedPercent: 35, nextResetTime: RESET },
        { key: "token_week", label: "Week", usedPercent: 12, nextResetTime: RESET },
        {
          key: "mcp",
          label: "MCP",
          usedPercent: 10,
          usedCount: 3,
          totalCount: 30,
          nextResetTime: RESET,
          detail: [{ modelCode: "search-prime", usage: 2 }],
        },
      ],
    });
    const request = providers.glm.requests.at(-1)!;
    expect(request.path).toBe("/api/monitor/usage/quota/limit");
    expect(request.headers.get("authorization")).toBe(`Bearer ${KEYS.glm}`);
  });

  test("Q1 Q2 GLM: the share is counted where it can be, else taken as reported; a derived one is capped", async () => {
    const percentOf = async (limit: object) => {
      const { section } = await answered("glm", () =>
        Response.json({ ...GLM_BODY, data: { limits: [{ type: "TIME_LIMIT", ...limit }] } }),
      );
      return section.kind === "success" && "items" in section ? section.items[0]?.usedPercent : section.kind;
    };
    expect(await percentOf({ remaining: 27, currentValue: 3, percentage: 99 })).toBe(10);
    expect(await percentOf({ usage: 30, currentValue: 3, percentage: 99 })).toBe(10);
    expect(await percentOf({ usage: 30, currentValue: 90 })).toBe(100);
    expect(await percentOf({ remaining: 0, currentValue: 0, percentage: 7 })).toBe(7);
    expect(await percentOf({ usage: 0, currentValue: 5, percentage: 8 })).toBe(8);
    expect(await percentOf({ percentage: 12.5 })).toBe(12.5);
    expect(await percentOf({})).toBe("unavailable");
  });

  test("Q1 GLM: a window that nobody knows is shown under its own name", async () => {
    const limits = [
      { type: "TOKENS_LIMIT", number: 30, percentage: 1 },
      { type: "VIDEO_LIMIT", percentage: 2 },
      // The tools' window by its other name, of which nothing is used yet.
      { type: "MCP_LIMIT", currentValue: 0, usage: 30 },
    ];
    const { section } = await answered("glm", () =>
      Response.json({ success: true, data: { limits, new: 1 } }),
    );
    expect(section).toMatchObject({
      items: [
        { key: "TOKENS_LIMIT_30", label: "TOKENS_LIMIT 30", usedPercent: 1 },
        { key: "VIDEO_LIMIT", label: "VIDEO_LIMIT", usedPercent: 2 },
        { key: "mcp", label: "MCP", usedPercent: 0, usedCount: 0, totalCount: 30 },
      ],
    });
  });

  test("Q1 R29 OpenCode: windows in any order of fields, decimal, counted down from now", async () => {
    const before = Date.now();
    const { section } = await ask.opencode();
    const after = Date.now();
    expect(section).toMatchObject({
      kind: "success",
      windows: [
        { key: "rolling", label: "5h", usagePercent: 5 },
        { key: "weekly", label: "Week", usagePercent: 25 },
      ],
    });
    const [rolling, weekly] = section.kind === "success" ? section.windows : [];
    for (const [window, seconds] of [
      [rolling, 3600],
      [weekly, 86_400.5],
    ] as const) {
      expect(window!.resetsAt).toBeGreaterThanOrEqual(before + seconds * 1000);
      expect(window!.resetsAt).toBeLessThanOrEqual(after + seconds * 1000 + 1);
    }
    const request = providers.opencode.requests.at(-1)!;
    expect(request.path).toBe("/workspace/wrk%2F1/go");
    expect(request.headers.get("cookie")).toBe(`auth=${KEYS.cookie}`);
    expect(request.headers.get("user-agent")).toContain("Mozilla");
  });

  test("Q1 R29 Ollama: shares of a plan, or the month's share of its credit, or the spend alone", async () => {
    const now = Date.UTC(2026, 10, 30, 22, 10);
    const me = accountOf({
      status: 200,
      location: undefined,
      text: '{"Plan":"Pro","CreatedAt":"2026-01-31T07:30:00.123456789Z"}',
    });
    const read = (body: object, account = me) => {
      const { section } = readOllama(
        { status: 200, location: undefined, text: JSON.stringify(body) },
        account,
        now,
      );
      return section;
    };
    expect(read({ limits: { session: { usage: 0.31 }, weekly: { usage: 0.675 } } })).toEqual({
      kind: "success",
      windows: [
        { key: "session", label: "5h", usagePercent: 31, resetsAt: Math.ceil(now / 18_000_000) * 18_000_000 },
        { key: "weekly", label: "Week", usagePercent: 67.5, resetsAt: Date.UTC(2026, 11, 7) },
      ],
    });
    expect(read({ totals: { usage_usd: 1.5747, request_count: 246 }, buckets: [] })).toEqual({
      kind: "success",
      windows: [
        {
          key: "monthly",
          label: "Month",
          usagePercent: 2.62,
          resetsAt: Date.UTC(2026, 11, 31, 7, 30, 0, 123),
        },
      ],
    });
    expect(read({ totals: { usage_usd: 99 } })).toMatchObject({ windows: [{ usagePercent: 100 }] });
    const unknown = { plan: "gold", periodEnd: undefined, createdAt: undefined };
    expect(read({ totals: { usage_usd: 1.5 } }, unknown)).toEqual({
      kind: "success",
      windows: [],
      spend: { usd: 1.5, range: "30d" },
    });
    const ends = accountOf({
      status: 200,
      location: undefined,
      text: JSON.stringify({
        plan: "max",
        SubscriptionPeriodEnd: { Time: "2026-12-05T00:00:00Z", Valid: true },
      }),
    });
    expect(read({ totals: { usage_usd: 3 } }, ends)).toMatchObject({
      windows: [{ usagePercent: 1, resetsAt: Date.UTC(2026, 11, 5) }],
    });
    const past = { ...ends, periodEnd: now - 1, createdAt: undefined };
    expect(read({ totals: { usage_usd: 3 } }, past)).toEqual({
      kind: "success",
      windows: [{ key: "monthly", label: "Month", usagePercent: 1 }],
    });
  });

  test("Q1 Ollama: the monthly anniversary keeps its time of day, and a short month has its last day", () => {
    const start = Date.UTC(2026, 0, 31, 7, 30);
    const next = (now: number) => new Date(nextAnniversary(start, now)).toISOString();
    expect(next(Date.UTC(2026, 1, 1))).toBe("2026-02-28T07:30:00.000Z");
    expect(next(Date.UTC(2026, 1, 28, 7, 30))).toBe("2026-03-31T07:30:00.000Z");
    expect(next(Date.UTC(2026, 11, 31, 8))).toBe("2027-01-31T07:30:00.000Z");
    expect(next(Date.UTC(2028, 1, 10))).toBe("2028-02-29T07:30:00.000Z");
  });

  test("Q1 Ollama: plan and period are no reason to show nothing", async () => {
    for (const me of [
      new Response("no", { status: 500 }),
      new Response("<html>"),
      Response.json({ Plan: 7 }),
    ]) {
      const kind = await kindOf("ollama", (request) =>
        new URL(request.url).pathname === "/api/me"
          ? (me.clone() as Response)
          : Response.json({ limits: { session: { usage: 0.5 } } }),
      );
      expect(kind).toBe("success");
    }
  });
});

describe("what it says otherwise", () => {
  const refusals: [Name, string, () => Response, string][] = [
    ["glm", "429", () => new Response("", { status: 429 }), "rate_limited"],
    [
      "glm",
      "a rate limit in words",
      () => Response.json({ success: false, code: 1, msg: "Rate limit reached" }),
      "rate_limited",
    ],
    [
      "glm",
      "the same in Chinese",
      () => Response.json({ success: false, code: 1, msg: "请求过于频繁" }),
      "rate_limited",
    ],
    ["glm", "code 401", () => Response.json({ success: false, code: 401, msg: "" }), "auth_error"],
    [
      "glm",
      "code 1001 as text",
      () => Response.json({ success: false, code: "1001", msg: "" }),
      "auth_error",
    ],
    [
      "glm",
      "authorization in Chinese",
      () => Response.json({ success: false, code: 5, msg: "身份验证失败" }),
      "auth_error",
    ],
    [
      "glm",
      "authorization in English",
      () => Response.json({ success: false, code: 5, msg: "Unauthorized" }),
      "auth_error",
    ],
    ["glm", "HTTP 401", () => new Response("", { status: 401 }), "auth_error"],
    [
      "glm",
      "another refusal",
      () => Response.json({ success: false, code: 500, msg: "oops" }),
      "unavailable",
    ],
    ["opencode", "a login page", () => Response.redirect("/auth/authorize?next=1", 302), "auth_error"],
    [
      "opencode",
      "another host's login page",
      () => Response.redirect("https://auth.opencode.ai/x", 302),
      "auth_error",
    ],
    [
      "opencode",
      "a login page elsewhere",
      () => Response.redirect("https://example.org/login", 302),
      "auth_error",
    ],
    ["opencode", "another host", () => Response.redirect("https://example.org/home", 302), "unavailable"],
    [
      "opencode",
      "names without numbers",
      () => new Response('rollingUsage:$R[1]={status:"ok"}'),
      "unavailable",
    ],
    ["opencode", "another page", () => new Response("<html>hello</html>"), "unavailable"],
    ["opencode", "403", () => new Response("", { status: 403 }), "auth_error"],
    ["ollama", "401", () => new Response("", { status: 401 }), "auth_error"],
    ["ollama", "403", () => new Response("", { status: 403 }), "auth_error"],
    ["ollama", "500", () => new Response("", { status: 500 }), "unavailable"],
    ["ollama", "nothing of use", () => Response.json({ limits: {}, totals: null }), "unavailable"],
  ];
  for (const [name, what, answer, kind] of refusals) {
    test(`Q1 ${name}: ${what} is ${kind}`, async () => {
      expect(await kindOf(name, answer)).toBe(kind as Answer["section"]["kind"]);
    });
  }

  test("Q1 without credentials nothing is asked", async () => {
    const before = NAMES.map((name) => providers[name].requests.length);
    const glm = await askGlm(web, { provider: undefined, origin: providers.glm.origin });
    const other = { id: "my-own", apiKey: "other-key", baseUrl: "https://llm.example.org" };
    const foreign = await askGlm(web, { provider: other, origin: providers.glm.origin });
    const opencode = await askOpencode(web, { workspaceId: "w", authCookie: undefined, origin: undefined });
    const strange = await askOpencode(web, { workspaceId: "w", authCookie: "a\r\nx: y", origin: undefined });
    const ollama = await askOllama(web, { apiKey: undefined, origin: undefined });
    expect([glm, foreign, opencode, strange, ollama].map((answer) => answer.section.kind)).toEqual([
      "auth_error",
      "auth_error",
      "not_configured",
      "auth_error",
      "not_configured",
    ]);
    expect(NAMES.map((name) => providers[name].requests.length)).toEqual(before);
  });

  const nonsense: [Name, string, () => Response][] = [
    ...["-1", "101", "1e999", '"35"', "null"].map((value): [Name, string, () => Response] => [
      "glm",
      `a percentage of ${value}`,
      () =>
        new Response(
          `{"success":true,"data":{"limits":[{"type":"TOKENS_LIMIT","number":5,"percentage":${value}}]}}`,
        ),
    ]),
    [
      "glm",
      "a time in seconds",
      () =>
        Response.json({
          success: true,
          data: { limits: [{ type: "X", percentage: 1, nextResetTime: 1_723_812_000 }] },
        }),
    ],
    [
      "glm",
      "a negative count",
      () => Response.json({ success: true, data: { limits: [{ type: "X", currentValue: -1, usage: 3 }] } }),
    ],
    ["glm", "limits of another shape", () => Response.json({ success: true, data: { limits: {} } })],
    ["glm", "null", () => new Response("null")],
    ...["-1", "100.5", "abc", ""].map((value): [Name, string, () => Response] => [
      "opencode",
      `a percentage of "${value}"`,
      () => new Response(`rollingUsage:$R[1]={usagePercent:${value},resetInSec:1}`),
    ]),
    ["opencode", "a negative rest", () => new Response("rollingUsage:$R[1]={usagePercent:1,resetInSec:-5}")],
    ["ollama", "a share above 1", () => Response.json({ limits: { session: { usage: 31 } } })],
    ["ollama", "a negative share", () => Response.json({ limits: { session: { usage: -0.1 } } })],
    ["ollama", "a negative spend", () => Response.json({ totals: { usage_usd: -1 } })],
    ["ollama", "a list", () => Response.json([])],
  ];
  for (const [name, what, answer] of nonsense) {
    test(`Q2 ${name}: ${what} cannot be shown, and the reason says where`, async () => {
      const { section, reason } = await answered(name, answer);
      expect(section).toEqual({ kind: "unavailable" });
      expect(reason?.key).toStartWith("quota.reason.");
    });
  }
});

describe("answers that are none", () => {
  for (const name of NAMES) {
    test(`Q2 ${name}: a page where data was due, 50 MB, a redirect without end, silence and a cut answer`, async () => {
      if (name !== "opencode") {
        const page = await answered(name, () => new Response("<!doctype html><p>Hi"));
        expect([page.section.kind, page.reason?.key]).toEqual(["unavailable", "quota.reason.page"]);
      }
      let sent = 0;
      const large = await answered(name, () => {
        const body = new ReadableStream({
          pull(controller) {
            sent += 1 << 20;
            if (sent > 50 << 20) controller.close();
            else controller.enqueue(new Uint8Array(1 << 20));
          },
        });
        return new Response(body);
      });
      expect([large.section.kind, large.reason?.key]).toEqual(["unavailable", "quota.reason.large"]);
      let hops = 0;
      const loop = await answered(name, (request) => {
        const { pathname } = new URL(request.url);
        if (pathname !== "/api/me") hops++;
        return Response.redirect(pathname, 302);
      });
      expect([loop.section.kind, loop.reason?.key]).toEqual(["unavailable", "quota.reason.redirects"]);
      expect(hops).toBeLessThanOrEqual(10);
      const silent = await answered(name, () => new Promise<Response>(() => {}), hurried);
      expect(silent.section.kind).toBe("unavailable");
      const reason = phrase("quota.reason.deadline", { seconds: name === "glm" ? 8 : 10 });
      expect(silent.reason).toEqual(reason);
      const dripping = await answered(
        name,
        () =>
          new Response(
            new ReadableStream({
              async pull(controller) {
                await Bun.sleep(20);
                controller.enqueue(new Uint8Array(1));
              },
            }),
          ),
        hurried,
      );
      expect([dripping.section.kind, dripping.reason?.key]).toEqual(["unavailable", "quota.reason.deadline"]);
    }, 20_000);

    test(`Q2 ${name}: an answer is unpacked whichever way it is packed, and no further than is read of one that is not`, async () => {
      const plain = new Uint8Array(2 << 20);
      const well = providers[name].answer;
      for (const [packing, pack] of Object.entries({
        gzip: gzipSync,
        "X-GZIP": gzipSync,
        deflate: deflateSync,
        br: brotliCompressSync,
        zstd: zstdCompressSync,
        identity: (bytes: Uint8Array) => bytes,
      })) {
        const packed = (bytes: Uint8Array) =>
          new Response(new Uint8Array(pack(bytes)), { headers: { "content-encoding": packing } });
        const read = await answered(name, async (request) =>
          packed(new Uint8Array(await (await well(request)).arrayBuffer())),
        );
        expect([packing, read.section.kind]).toEqual([packing, "success"]);
        const large = await answered(name, () => packed(plain));
        expect([packing, large.reason?.key]).toEqual([packing, "quota.reason.large"]);
        if (packing === "identity") continue;
        const cut = await answered(
          name,
          () =>
            new Response(new Uint8Array(pack(plain)).slice(0, 12), {
              headers: { "content-encoding": packing },
            }),
        );
        expect([packing, cut.reason?.key]).toEqual([packing, "quota.reason.packed"]);
      }
    });

    test(`Q2 Q6 ${name}: a redirect to another host is handed no credential`, async () => {
      const asked: unknown[] = [];
      const other = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch(request) {
          asked.push(request);
          return Response.json(GLM_BODY);
        },
      });
      try {
        const target = `http://127.0.0.1:${other.port}/login`;
        for (const status of [301, 302, 303, 307, 308]) {
          const { section } = await answered(
            name,
            () => new Response("", { status, headers: { location: target } }),
          );
          expect(section.kind).not.toBe("success");
        }
        expect(asked).toEqual([]);
        // Within the same host it is followed, with what was asked.
        const { section } = await answered(name, (request) => {
          const url = new URL(request.url);
          if (!url.pathname.startsWith("/moved")) return Response.redirect(`/moved${url.pathname}`, 307);
          if (name === "glm") return Response.json(GLM_BODY);
          if (name === "opencode") return new Response(OPENCODE_PAGE);
          return Response.json({ limits: { session: { usage: 0.5 } } });
        });
        expect(section.kind).toBe("success");
      } finally {
        await other.stop(true);
      }
    });

    test(`Q2 Q6 ${name}: a redirect away from TLS is handed no credential either`, async () => {
      const asked: string[] = [];
      const plain: Web = {
        ...web,
        async fetch(url) {
          asked.push(url);
          return new Response("", {
            status: 302,
            headers: { location: url.replace("https:", "http:").replace(/$/, "x") },
          });
        },
      };
      const origin = "https://usage.example";
      if (name === "glm")
        await askGlm(plain, { provider: { id: "builtin:zai", apiKey: "k", baseUrl: undefined }, origin });
      else if (name === "opencode") await askOpencode(plain, { workspaceId: "w", authCookie: "c", origin });
      else await askOllama(plain, { apiKey: "k", origin });
      expect(asked.length).toBeGreaterThan(0);
      for (const url of asked) expect(url).toStartWith("https:");
    });

    test(`Q2 ${name}: no connection is unavailable`, async () => {
      const closed: Web = { ...web, fetch: () => fetch("http://127.0.0.1:1/") };
      expect((await ask[name](closed)).section.kind).toBe("unavailable");
    });
  }

  test("Q2 whatever is answered, a section of the public shape comes of it, and nothing is thrown", async () => {
    await eachSeedAsync(150, async (random) => {
      for (const name of NAMES) {
        const status = random.pick([200, 200, 200, 204, 301, 400, 401, 404, 429, 500]);
        const text =
          JSON.stringify(
            random.chance(0.5)
              ? {
                  success: random.pick([true, false, 1]),
                  code: someValue(random),
                  data: { limits: [someValue(random, 3)], level: someValue(random) },
                  limits: someValue(random, 3),
                  totals: someValue(random),
                }
              : someValue(random, 4),
          ) ?? "";
        const { section, reason } = await answered(
          name,
          () => new Response(status === 204 ? null : text, { status }),
        );
        const glm = { kind: "unavailable" };
        const others = { opencode: { kind: "not_configured" }, ollama: { kind: "not_configured" } };
        expect(UsageBody.safeParse({ glm, ...others, [name]: section }).success).toBe(true);
        if (section.kind !== "success") expect(reason).toBeDefined();
      }
    });
  });
});
