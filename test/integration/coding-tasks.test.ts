import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../support/bubblewrap.ts"
import { createRepository } from "../support/git-repository.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import { reply, says } from "../support/model-server/turn.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

interface CodingTask {
  readonly task: string
  readonly calls: readonly { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }[]
}

const TASKS = JSON.parse(
  readFileSync(new URL("../fixtures/permissions/coding-tasks.json", import.meta.url), "utf8"),
) as readonly CodingTask[]

const COMMANDS = TASKS.flatMap(({ calls }) => calls.filter(({ tool }) => tool === "terminal")).length

const WORK = {
  "package.json": '{"name": "example", "version": "1.0.0", "scripts": {}}\n',
  "README.md": "# Example\n\nRun `npm test`.\n",
  Makefile: "all:\n\t@true\ntest clean: all\n",
  "requirements.txt": "\n",
  "Cargo.toml": "[package]\n",
  "src/sum.ts": "export const sum = (a: number, b: number) => a - b\n",
  "src/config.ts": "export const TIMEOUT = 1000\n",
  "src/names.ts": "export const oldName = 1\n",
  "tools/report.py": "print(1)\n",
}

/** Tools that a developer has and this machine may not have. */
const PROGRAMS = ["npm", "npx", "cargo", "go", "gofmt", "pip", "jq", "curl", "python3", "make"]

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

/** Titles, summaries and background reviews would receive the replies of later tasks. */
const ONE_REQUEST_PER_REPLY = [
  "  context_length: 1000000",
  "auxiliary: {title_generation: {provider: none}}",
  "memory: {nudge_interval: 0}",
  "skills: {creation_nudge_interval: 0}",
  "",
].join("\n")

/** How often the user is asked while a model works on all tasks. The answer is always yes, once. */
async function questions(profile: string, sandbox: "auto" | "off"): Promise<readonly string[]> {
  const programs = mkdtempSync(join(tmpdir(), "programs-"))
  for (const name of PROGRAMS) {
    const path = join(programs, name)
    writeFileSync(path, `#!/bin/sh\necho ${name} done\n`)
    chmodSync(path, 0o755)
  }
  const script = TASKS.flatMap(({ calls }): ScriptEntry[] => [
    reply({ calls: calls.map(({ tool: name, args: input }) => ({ name, input })) }),
    says("Done."),
  ])
  await using assembled = await assembleApp(script, {
    config: `${ONE_REQUEST_PER_REPLY}terminal: {sandbox: ${sandbox}}\n`,
    workFiles: WORK,
    env: { PATH: [programs, process.env["PATH"] ?? ""].join(delimiter) },
  })
  createRepository(assembled.home.workdir, {})
  const session = await assembled.open({ permissionProfile: profile })
  const asked: string[] = []
  for (const { task } of TASKS) {
    const { end } = await runToEnd(session, task, (event) => {
      if (event.type === "tool-end" && event.outcome === "blocked") asked.push(`refused: ${event.summary}`)
      if (event.type !== "approval-request") return
      asked.push(event.command ?? event.call.name)
      session.answer(event.requestId, { kind: "approval", choice: "once" })
    })
    expect([task, end.outcome]).toEqual([task, "completed"])
  }
  return asked
}

test.skipIf(missing !== undefined)(
  titleWithReason("accept-edits in the sandbox asks at most a fifth as often as asking for every command", missing),
  { timeout: 240_000 },
  async () => {
    expect([TASKS.length, COMMANDS > 100]).toEqual([30, true])
    const asked = await questions("accept-edits", "auto")
    expect(asked.length).toBeLessThanOrEqual(COMMANDS / 5)
  },
)

test.each(["auto", "off"] as const)("default asks rarely, sandbox: %s", { timeout: 240_000 }, async (sandbox) => {
  const asked = await questions("default", sandbox)
  expect(asked.length).toBeLessThanOrEqual(COMMANDS / 10)
})
