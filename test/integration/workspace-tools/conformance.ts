import { randomInt } from "node:crypto"

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"

import { persistedOutput } from "../../../src/toolkit/result-budget.ts"
import { assembleApp } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { openToolSession, processesRunning, QUIET } from "./tool-session.ts"
import type { ToolSession } from "./tool-session.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

/** A kind of workspace that the suite runs against. */
export interface WorkspaceSetup {
  readonly name: string
  /** Why it cannot be tested on this machine; the tests are skipped then. */
  readonly missing: string | undefined
  /** Starts the peer that the workspace needs and returns the settings that select it. */
  readonly prepare: () => Promise<PreparedWorkspace>
}

export interface PreparedWorkspace {
  readonly config: string
  readonly env: Readonly<Record<string, string>>
  readonly release: () => Promise<void>
}

const SECRETS = {
  OPENAI_API_KEY: "sk-test-4f9c2b7ad1e83f605c21",
  GITHUB_TOKEN: "ghp_0123456789abcdefghijABCDEFGHIJ012345",
  ACME_PASSWORD: "correct-horse-battery-staple",
}
const HOME_SECRET = "whsec-9d2e11c0a7f4"

/** Tests the assembled product in one kind of workspace: what the model's tools do there and what the model reads. */
export function testTools(setup: WorkspaceSetup): void {
  describe.skipIf(setup.missing !== undefined)(titleWithReason(setup.name, setup.missing), () => {
    let prepared: PreparedWorkspace
    let app: AssembledApp
    let tools: ToolSession
    let root: string
    beforeAll(async () => {
      prepared = await setup.prepare()
      app = await assembleApp([], {
        config: `${QUIET}skills:\n  creation_nudge_interval: 0\ntool_output:\n  max_bytes: 400000\n${prepared.config}`,
        env: { ...SECRETS, ...prepared.env },
        files: { ".env": `HOOK_SECRET=${HOME_SECRET}\n` },
      })
      tools = await openToolSession(app)
      root = String((await tools.fields("terminal", { command: "pwd" }))["output"])
    })
    afterAll(async () => {
      expect(app.model.unanswered).toEqual([])
      await app[Symbol.asyncDispose]()
      await prepared.release()
    })
    // One session for all tests, because opening a workspace is slow. Each test uses its own directory.
    let count = 0
    beforeEach(async () => {
      const directory = `${root}/case-${(count += 1)}`
      await tools.fields("terminal", { command: `mkdir ${directory} && cd ${directory}` })
    })

    test("file tools write, read by line, replace text and search", async () => {
      const written = await tools.fields("write_file", { path: "src/a.txt", content: "one\ntwo\nthree — ä\n" })
      expect(written).toMatchObject({ bytes_written: 21, dirs_created: true })
      expect(await tools.fields("read_file", { path: "src/a.txt", offset: 2, limit: 1 })).toMatchObject({
        content: "2|two",
        total_lines: 3,
      })
      const patched = await tools.fields("patch", { path: "src/a.txt", old_string: "two", new_string: "TWO" })
      expect(patched).toMatchObject({ success: true, diff: expect.stringContaining("-two\n+TWO\n") })
      expect(await tools.fields("terminal", { command: "cat src/a.txt; stat -c %a src/a.txt" })).toMatchObject({
        output: "one\nTWO\nthree — ä\n644",
      })
      expect(await tools.fields("search_files", { pattern: "T[WV]O" })).toMatchObject({
        total_count: 1,
        matches: [{ path: "src/a.txt", line: 2, content: "TWO" }],
      })
      expect(await tools.fields("search_files", { pattern: "*.txt", target: "files" })).toMatchObject({
        total_count: 1,
        files: ["src/a.txt"],
      })
    })

    test("a patch changes several files or none", async () => {
      await tools.fields("terminal", {
        command: "printf 'old\\n' >a; printf 'gone\\n' >b; printf 'kept\\n' >c; chmod 750 a",
      })
      const patch = [
        "*** Begin Patch",
        "*** Update File: a",
        "-old",
        "+new",
        "*** Add File: deep/d",
        "+added",
        "*** Delete File: b",
        "*** Move File: c -> deep/e",
        "*** End Patch",
      ].join("\n")
      const wrong = await tools.fields("patch", { mode: "patch", patch: patch.replace("-old", "-other") })
      expect(wrong["error"]).toContain("no files were modified")
      expect(await tools.fields("terminal", { command: "cat a b c; ls -d deep" })).toMatchObject({
        output: expect.stringMatching(/^old\ngone\nkept\nls: /u),
      })
      expect(await tools.fields("patch", { mode: "patch", patch })).toMatchObject({ success: true })
      expect(
        await tools.fields("terminal", { command: "cat a deep/d deep/e; find . -type f | sort; stat -c %a a" }),
      ).toMatchObject({ output: "new\nadded\nkept\n./a\n./deep/d\n./deep/e\n750" })
    })

    test("file tools report missing files, directories and external changes", async () => {
      await tools.fields("terminal", { command: "mkdir folder; printf '1\\n' >notes.txt" })
      expect((await tools.fields("read_file", { path: "note.txt" }))["error"]).toContain("not found")
      expect((await tools.fields("read_file", { path: "folder" }))["error"]).toContain("is a directory")
      expect((await tools.fields("write_file", { path: "folder", content: "x" }))["error"]).toContain("directory")
      expect((await tools.fields("write_file", { path: "notes.txt/x", content: "x" }))["error"]).toContain(
        "not a directory",
      )
      await tools.fields("read_file", { path: "notes.txt" })
      await tools.fields("terminal", {
        command: "printf 'changed\\n' >notes.txt; touch -d '2001-01-01 00:00' notes.txt",
      })
      const stale = await tools.call("write_file", { path: "notes.txt", content: "mine\n" })
      expect(stale.text).toMatch(/changed|modified/u)
    })

    test("the terminal keeps directory, variables and functions between calls", async () => {
      await tools.fields("terminal", { command: "mkdir -p in/side && cd in/side" })
      await tools.fields("terminal", { command: "export WHO=world; greet() { echo hello $WHO; }" })
      const { output, exit_code: code } = await tools.fields("terminal", { command: "greet; basename $PWD; exit 3" })
      expect([output, code]).toEqual(["hello world\nside", 3])
      await tools.fields("write_file", { path: "here", content: "x" })
      expect(await tools.fields("terminal", { command: "cat here; greet" })).toMatchObject({ output: "xhello world" })
    })

    test("a terminal timeout keeps the output and kills all processes", async () => {
      const mark = `sleep ${randomInt(10_000_000, 99_999_999)}`
      await tools.fields("write_file", {
        path: "stray",
        content: `(${mark} & wait) & setsid ${mark} & echo printed; wait`,
      })
      const result = await tools.fields("terminal", { command: "sh stray", timeout: 1 })
      expect(result).toEqual({ output: "printed\n[Command timed out after 1s]", exit_code: 124, error: null })
      expect(processesRunning(mark)).toEqual([])
      expect(await tools.fields("terminal", { command: "echo on" })).toMatchObject({ output: "on", exit_code: 0 })
    })

    test("a background process can be read, awaited and killed with everything it started", async () => {
      const { session_id: first } = await tools.fields("terminal", {
        command: "for n in 1 2 3; do echo line $n; done; while [ ! -e go ]; do sleep 0.05; done; echo over; exit 4",
        background: true,
      })
      expect((await tools.fields("process", { action: "poll", session_id: first }))["status"]).toBe("running")
      await tools.fields("write_file", { path: "go", content: "" })
      expect(await tools.fields("process", { action: "wait", session_id: first, timeout: 20 })).toMatchObject({
        status: "exited",
        exit_code: 4,
      })
      expect(await tools.fields("process", { action: "log", session_id: first, offset: 1, limit: 2 })).toMatchObject({
        output: "line 2\nline 3",
        total_lines: 4,
      })
      const mark = `sleep ${randomInt(10_000_000, 99_999_999)}`
      const { session_id: second } = await tools.fields("terminal", {
        command: `echo up; setsid ${mark} & ${mark}`,
        background: true,
      })
      await expect.poll(() => processesRunning(mark).length, { timeout: 20_000 }).toBe(2)
      expect((await tools.fields("process", { action: "kill", session_id: second }))["status"]).toBe("killed")
      expect(processesRunning(mark)).toEqual([])
      const { processes } = await tools.fields("process", { action: "list" })
      expect(processes).toMatchObject([
        { session_id: first, status: "exited" },
        { session_id: second, status: "exited" },
      ])
    })

    test("a result of 300,000 characters is stored in a workspace file that read_file can read", async () => {
      const line = "0123456789".repeat(9) + "abcdefghi"
      const { text } = await tools.call("terminal", { command: `yes ${line} | head -3000; echo the end` })
      const path = /^All of it is in (.+)$/mu.exec(text)?.[1] ?? ""
      const whole = `output:\n${`${line}\n`.repeat(3000)}the end\nexit_code: 0\nerror: null`
      expect(text).toBe(persistedOutput(whole, { path, previewChars: 1500 }))
      expect(await tools.fields("terminal", { command: `wc -c <${path}` })).toMatchObject({
        output: expect.stringMatching(new RegExp(`^\\s*${whole.length}$`, "u")),
      })
      expect(await tools.fields("read_file", { path, offset: 3001, limit: 2 })).toMatchObject({
        content: `3001|${line}\n3002|the end`,
        total_lines: 3004,
      })
    })

    test("protected paths and workspace boundaries refer to the workspace's own file system", async () => {
      const keys = await tools.fields("write_file", { path: "~/.ssh/hermes-test", content: "x" })
      expect(keys["error"]).toContain("holds credentials or settings of the account")
      await using careful = await openToolSession(app, { permissionProfile: "accept-edits", attended: false })
      expect(await careful.fields("write_file", { path: "inside", content: "x" })).toMatchObject({ bytes_written: 1 })
      const outside = await careful.fields("write_file", { path: "/opt/hermes-test/outside", content: "x" })
      expect(outside["error"]).toContain("it writes outside the workspace")
    })

    test("commands see no secrets of Hermes", async () => {
      const foreground = await tools.call("terminal", {
        command: "env; cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n'",
      })
      const { session_id: id } = await tools.fields("terminal", { command: "env", background: true })
      const background = await tools.call("process", { action: "wait", session_id: id, timeout: 20 })
      expect(background.fields["output"]).toContain("PATH=")
      for (const name of [...Object.keys(SECRETS), "HOOK_SECRET"]) {
        expect([name, foreground.text.includes(name), background.text.includes(name)]).toEqual([name, false, false])
      }
    })
  })
}
