/** Loaded before all tests (`bunfig.toml`), since `bun test` does not wait for a process's "exit". */
import { afterAll } from "bun:test";
import { removeTempDirs } from "./temp.ts";

afterAll(removeTempDirs);
