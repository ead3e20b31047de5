import { lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const NAMES = [".envrc", ".vscode/tasks.json", "AGENTS.md", "d/.envrc"]
const WRITE = `mkdir -p .vscode d; for n in ${NAMES.join(" ")}; do echo OBEY-THIS > $n; done; touch ready`

async function open(script: Parameters<typeof assembleApp>[0], workFiles: Readonly<Record<string, string>>) {
  const assembled = await assembleApp(script, {
    config: "terminal: {sandbox: required}\ncheckpoints: {enabled: false}\n",
    workFiles,
  })
  const session = await assembled.open({ permissionProfile: "accept-edits" })
  const { workdir } = assembled.home
  const has = (name: string): boolean => lstatSync(join(workdir, name), { throwIfNoEntry: false }) !== undefined
  return {
    assembled,
    session,
    workdir,
    has,
    records: join(assembled.home.path, "cache/sandbox/running"),
    run: async () => {
      const { events, end } = await runToEnd(session, "go", (event) => {
        if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "once" })
      })
      const warnings = events.flatMap((event) => (event.type === "status" ? [event.text] : []))
      return [...warnings, ...(end.result.notes ?? [])].join("\n")
    },
    [Symbol.asyncDispose]: () => assembled[Symbol.asyncDispose](),
  }
}

function background(command: string, options: Readonly<Record<string, unknown>> = {}) {
  return callsTool("terminal", { command, background: true, ...options })
}

const SOON = { timeout: 10_000, interval: 20 }

describe.skipIf(missing !== undefined)(titleWithReason("files that background processes create", missing), () => {
  test.each([{}, { pty: true }])(
    "are renamed when Hermes ends, however often they were created: %o",
    async (options) => {
      await using opened = await open(
        [background("sh k.sh", options), callsTool("terminal", { command: "true" }), says("Done.")],
        {
          "k.sh": `while :; do ${WRITE}; done\n`,
        },
      )
      await opened.run()
      // All of them are there again, whatever the checks of the run renamed.
      for (let round = 0; round < 2; round += 1) {
        rmSync(join(opened.workdir, "ready"), { force: true })
        await expect.poll(() => opened.has("ready"), SOON).toBe(true)
      }
      await opened.session.close("completed")
      await opened.assembled.app.close()
      expect(NAMES.filter(opened.has)).toEqual([])
      const texts = opened.assembled.app.takeCommandNotices().join("\n")
      for (const name of NAMES) expect(texts).toContain(`${name} appeared`)
      expect(readdirSync(opened.records)).toEqual([])
    },
  )

  test("are renamed when the process exits, and before the next command; what the user approved meanwhile stays", async () => {
    await using opened = await open(
      [
        background("sh k.sh"),
        callsTool("write_file", { path: "CLAUDE.md", content: "Mine.\n" }),
        callsTool("write_file", { path: "pkg/AGENTS.md", content: "Mine.\n" }),
        says("Done."),
        callsTool("terminal", { command: "echo mine > .npmrc; true" }),
        says("Done."),
      ],
      {
        "k.sh": `until [ -e first ]; do sleep 0.02; done; ${WRITE}; until [ -e second ]; do sleep 0.02; done; echo x > GEMINI.md; touch last`,
      },
    )
    await opened.run()
    writeFileSync(join(opened.workdir, "first"), "")
    await expect.poll(() => opened.has("ready"), SOON).toBe(true)
    expect(await opened.run()).toContain("AGENTS.md appeared")
    expect(NAMES.filter(opened.has)).toEqual([])
    writeFileSync(join(opened.workdir, "second"), "")
    await expect.poll(() => opened.has("last") && !opened.has("GEMINI.md"), SOON).toBe(true)
    expect(opened.has("GEMINI.md.from-sandbox")).toBe(true)
    expect(["CLAUDE.md", "pkg/AGENTS.md", ".npmrc"].filter(opened.has)).toEqual([
      "CLAUDE.md",
      "pkg/AGENTS.md",
      ".npmrc",
    ])
  })

  test("of a Hermes that was killed are renamed by the next start, before rules are read", async () => {
    await using opened = await open([background("sleep 100"), says("Done."), says("Hi.")], {})
    await opened.run()
    const [record = ""] = readdirSync(opened.records).map((name) => readFileSync(join(opened.records, name), "utf8"))
    await using next = await opened.assembled.restart()
    writeFileSync(join(opened.workdir, "AGENTS.md"), "OBEY-THIS\n")
    mkdirSync(opened.records, { recursive: true })
    // No process has this id.
    writeFileSync(join(opened.records, "4194305-abcdef.json"), record)
    const { end } = await runToEnd(await next.open(), "hi")
    expect(JSON.stringify(next.model.requests.at(-1)?.body)).not.toContain("OBEY-THIS")
    expect(opened.has("AGENTS.md.from-sandbox")).toBe(true)
    expect(end.result.notes?.join("\n")).toContain("AGENTS.md appeared")
  })
})
