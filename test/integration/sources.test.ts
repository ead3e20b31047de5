import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

import { describe, expect, test } from "vitest"

import { runProcess } from "../support/process-driver.ts"

const root = resolve(import.meta.dirname, "../..")

/** Folders whose code must load only when a command needs it, to keep the start-up fast. */
const LAZY_FOLDERS = "llm|state|exec|policy|knowledge|toolkit|tools|mcp|agent|plugins|app|cron|kanban|batch|commands"

interface Metadata {
  readonly chunks: Record<string, { readonly files: readonly string[]; readonly imports: readonly string[] }>
}

describe("the bundle", () => {
  test("the start-up path loads no database, network, tool or agent code", () => {
    const main = staticInputs(chunkOf("src/cli/launch/main.ts"))
    const dispatch = staticInputs(chunkOf("src/cli/run-command-line.ts"))
    const loaded = [...new Set([...main, ...dispatch])]
    expect(loaded.length).toBeGreaterThan(10)
    expect(loaded.filter((path) => new RegExp(`^src/(${LAZY_FOLDERS})/`).test(path))).toEqual([])
    expect(loaded.filter((path) => path.startsWith("node_modules/"))).toEqual([])
  })

  test("a one-shot without tool calls loads neither zod nor yaml nor the other commands", () => {
    const chat = staticInputs(chunkOf("src/cli/chat/run-chat.ts"))
    expect(chat.filter((path) => /node_modules\/(zod|yaml)\//.test(path))).toEqual([])
    expect(chat.filter((path) => /^src\/cli\/commands\/(?!chat)/.test(path))).toEqual([])
  })
})

describe("the sources", () => {
  test("every file loads in plain Node without side effects", async () => {
    const files = globSync("src/**/*.ts", { cwd: root }).filter(
      (path) =>
        !path.endsWith(".test.ts") && !["src/cli/launch/hermes.ts", "src/cli/launch/launcher.ts"].includes(path),
    )
    const script = `
      const before = process.listenerCount("SIGINT") + process.listenerCount("uncaughtException") + process.listenerCount("exit")
      for (const file of ${JSON.stringify(files.map((path) => join(root, path)))}) await import(file)
      const after = process.listenerCount("SIGINT") + process.listenerCount("uncaughtException") + process.listenerCount("exit")
      console.log(JSON.stringify({ listeners: after - before, handles: process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|FSReq/.test(name)) }))`
    const result = await runProcess({
      command: process.execPath,
      args: ["--input-type=module", "-e", script],
      cwd: root,
      env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" },
      timeoutMs: 20_000,
    })
    expect(result.stderr).toBe("")
    expect(JSON.parse(result.stdout)).toEqual({ listeners: 0, handles: [] })
  })
})

function metadata(): Metadata {
  return JSON.parse(readFileSync(join(root, "dist/meta.json"), "utf8")) as Metadata
}

function chunkOf(source: string): string {
  const found = Object.entries(metadata().chunks).find(([, chunk]) => chunk.files.includes(source))
  if (found === undefined) throw new Error(`${source} is not in the bundle`)
  return found[0]
}

/** All files that load together with a chunk: its own and those of the chunks that it imports statically. */
function staticInputs(entry: string): string[] {
  const { chunks } = metadata()
  const seen = new Set<string>()
  const visit = (name: string): readonly string[] => {
    const chunk = chunks[name]
    if (chunk === undefined || seen.has(name)) return []
    seen.add(name)
    return [...chunk.files, ...chunk.imports.flatMap(visit)]
  }
  return [...visit(entry)]
}
