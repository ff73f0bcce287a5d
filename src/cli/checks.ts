/** What `doctor` looks at. Each check answers for one thing, and each problem names its mend. */
import { existsSync } from "node:fs";
import { OLDEST_VERSION } from "../backend/limits.ts";
import type { Launch, Located } from "../backend/locate.ts";
import { compareVersions } from "../backend/version.ts";
import { errors, type ProductError } from "../errors/index.ts";
import { type Language, phrase, t } from "../locale/index.ts";
import { COMMIT, VERSION } from "./program.ts";
import type { Surroundings } from "./surroundings.ts";
import { writable } from "./writable.ts";

export interface CheckResult {
  /** Stable; the same check has the same id in every release. */
  readonly id: "program" | "config" | "state" | "backend" | "node" | "credentials";
  /** `note` is worth knowing and keeps nothing from working. */
  readonly status: "ok" | "note" | "problem";
  readonly detail: string;
  readonly mend?: string;
  /** The product's code for this problem, where it has one. */
  readonly code?: string;
}

export interface Report {
  readonly v: 1;
  readonly ok: boolean;
  readonly version: string;
  readonly commit: string;
  readonly checks: readonly CheckResult[];
}

export async function examine(around: Surroundings): Promise<Report> {
  const located = await around.locate();
  const checks = [
    program(around.config.language),
    ...configuration(around),
    state(around),
    ...(await backend(around, located)),
    ...credentials(around),
  ];
  const ok = checks.every((check) => check.status !== "problem");
  return { v: 1, ok, version: VERSION, commit: COMMIT, checks };
}

function program(language: Language): CheckResult {
  return {
    id: "program",
    status: "ok",
    detail: t(
      "doctor.program",
      {
        version: VERSION,
        commit: COMMIT,
        platform: `${process.platform}-${process.arch}`,
        path: process.execPath,
      },
      language,
    ),
  };
}

function configuration({ config, paths }: Surroundings): CheckResult[] {
  if (config.problems.length > 0)
    return config.problems.map((error) => failed("config", error, config.language));
  const key = existsSync(paths.configFile) ? "doctor.config.read" : "doctor.config.none";
  return [{ id: "config", status: "ok", detail: t(key, { path: paths.configFile }, config.language) }];
}

function state({ paths, config }: Surroundings): CheckResult {
  const path = paths.stateDir;
  const { language } = config;
  if (writable(path)) return { id: "state", status: "ok", detail: t("doctor.state.ok", { path }, language) };
  return {
    ...failed("state", errors.notWritable(path), language),
    mend: t("doctor.state.mend", { path }, language),
  };
}

async function backend(around: Surroundings, located: Located): Promise<CheckResult[]> {
  const { language } = around.config;
  const { launch } = located;
  if (!launch) {
    // The error's own hint is to run doctor.
    const mend = t("doctor.backend.mend", {}, language);
    return [{ ...failed("backend", errors.backendNotFound(located.looked), language), mend }];
  }
  if (launch.source === "simulator") {
    return [{ id: "backend", status: "note", detail: t("doctor.backend.simulator", {}, language) }];
  }
  const version = await around.versionOf(launch.versionArgv);
  if (version !== undefined && compareVersions(version, OLDEST_VERSION) < 0) {
    return [failed("backend", errors.backendTooOld(version, OLDEST_VERSION), language)];
  }
  const source = launch.source === "desktop app" ? phrase("doctor.backend.app", {}) : launch.source;
  const where = { path: launch.entry, source };
  const found: CheckResult =
    version === undefined
      ? failed("backend", errors.backendMute(launch.entry), language)
      : { id: "backend", status: "ok", detail: t("doctor.backend.ok", { ...where, version }, language) };
  return [found, node(launch, language)];
}

/** A Node that is too old or missing is already a reason why no backend was found. */
function node(launch: Launch, language: Language): CheckResult {
  const [first = ""] = launch.argv;
  if (first === launch.entry)
    return { id: "node", status: "ok", detail: t("doctor.node.unneeded", { path: launch.entry }, language) };
  return { id: "node", status: "ok", detail: t("doctor.node.ok", { path: first }, language) };
}

function credentials({ credentials: found, config }: Surroundings): CheckResult[] {
  const { language } = config;
  if (config.backend === "sim") {
    return [{ id: "credentials", status: "note", detail: t("doctor.credentials.simulator", {}, language) }];
  }
  const usable = [...found.providers, ...found.personal].filter((provider) => provider.usable);
  if (usable.length === 0 && found.cachedPlans.length === 0) {
    const files = found.files.map(({ path, problem }) =>
      problem === undefined ? path : phrase("looked.because", { place: path, why: problem }),
    );
    return [failed("credentials", errors.nothingSignedIn(files), language)];
  }
  const names = [...usable.map((provider) => provider.id), ...found.cachedPlans];
  const providers = [...new Set(names)].join(", ");
  return [{ id: "credentials", status: "ok", detail: t("doctor.credentials.ok", { providers }, language) }];
}

function failed(id: CheckResult["id"], error: ProductError, language: Language): CheckResult {
  const { sentence, hint } = error.inLanguage(language);
  return { id, status: "problem", detail: sentence, mend: hint, code: error.code };
}
