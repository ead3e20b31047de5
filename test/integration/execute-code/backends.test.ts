import { existsSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { podmanUnavailableReason, startPodman } from "../../support/podman.ts"
import type { TestPodman } from "../../support/podman.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import type { TestSshd } from "../../support/sshd.ts"
import { closeScriptSessions, leftovers, runScript, TEMPORARY } from "./script-session.ts"

const noSshd = sshdUnavailableReason()
const noPodman = podmanUnavailableReason()
const hasSandbox = !("missing" in (await findBubblewrap()))

afterEach(() => {
  expect(leftovers()).toEqual([])
})

/** Read a file of the workspace through a tool and look for it themselves; print whether they see a secret of the container. */
const SCRIPTS = [
  {
    language: "javascript",
    code: `import { existsSync } from "node:fs"
import { read_file, write_file, terminal } from "hermes_tools"
const written = await Promise.all([1, 2].map((number) => write_file("made-" + number, "text " + number)))
console.log(written.length, (await read_file("made-2")).content, (await terminal("ls made-* | wc -l")).output.trim(), existsSync("made-1"))
console.log(JSON.stringify(process.env).includes("canary"))`,
  },
  {
    language: "python",
    code: `import os
from hermes_tools import read_file, write_file, terminal
written = [write_file("made-%d" % number, "text %d" % number) for number in (1, 2)]
print(len(written), read_file("made-2")["content"], terminal("ls made-* | wc -l")["output"].strip(), str(os.path.exists("made-1")).lower())
print(str("canary" in str(os.environ)).lower())`,
  },
]

describe.skipIf(noSshd !== undefined)(titleWithReason("scripts of a session on another machine", noSshd), () => {
  let server: TestSshd
  beforeAll(async () => {
    server = await startSshd()
  })
  afterAll(async () => {
    await closeScriptSessions()
    await server[Symbol.asyncDispose]()
  })
  const session = (location: "host" | "backend", more = {}) => ({
    config: `code_execution:
  location: ${location}
terminal:
  backend: ssh
  ssh_host: 127.0.0.1
  ssh_user: root
  ssh_port: ${server.port}
  ssh_key: ${server.keyFile}
  cwd: ${server.directory}
`,
    env: { HERMES_SSH_BINARY: server.clientEnvironment["HERMES_SSH_BINARY"] ?? "" },
    profile: "full-auto",
    sharesSession: true as const,
    ...more,
  })

  test.each(SCRIPTS)("$language on this machine reaches the other one through tools", async (call) => {
    const { result } = await runScript(call, session("host"))
    expect(result).toMatchObject({ output: "2 1|text 2 2 false\nfalse", tool_calls_made: 4 })
  })

  test.each(SCRIPTS)("$language there calls tools through files", async (call) => {
    const { result } = await runScript(call, session("backend"))
    expect(result).toMatchObject({ output: "2 1|text 2 2 true\nfalse", tool_calls_made: 4 })
  })

  test("a script there that fails, loops or asks for too much is reported and leaves nothing", async () => {
    const failed = await runScript(
      { language: "python", code: "print('a')\nraise ValueError('b')" },
      session("backend"),
    )
    expect(failed.result.status).toBe("error")
    expect(failed.result.output).toContain("a\n--- stderr ---")
    expect(failed.result.error).toContain('File "script.py", line 2')
    const loop = await runScript(
      { language: "python", code: "print('a')\nwhile True: pass", timeout: 2 },
      session("backend"),
    )
    expect(loop.result).toMatchObject({ status: "timeout", output: "a\n[The script was stopped after 2 s.]" })
    const code = `import { call } from "./hermes_rpc.mjs"\nconsole.log((await call("memory", {})).error)`
    expect((await runScript({ code }, session("backend"))).result.output).toContain("'memory' is not available")
  }, 30_000)

  test.skipIf(!hasSandbox)("a script on this machine has the walls of this machine", async () => {
    const code = `import { writeFileSync } from "node:fs"
try { writeFileSync("/var/hermes-test-outside", "x"); console.log("written") } catch (error) { console.log(error.code) }`
    expect((await runScript({ code }, session("host"))).result.output).toBe("EROFS")
    expect(existsSync("/var/hermes-test-outside")).toBe(false)
    // Walls replace the question, as for a command here. Without a user, a command there is denied.
    const asked = await runScript({ code }, session("host", { profile: "default" }))
    expect(asked.result.output).toBe("EROFS")
    const there = await runScript({ code }, session("backend", { profile: "default" }))
    expect(there.result.error).toContain("needs the user's approval")
  })

  test.skipIf(!hasSandbox)("plan mode: reading scripts run here, none runs there", async () => {
    const code = `import { write_file } from "hermes_tools"\nconsole.log((await write_file("x", "y")).error)`
    expect((await runScript({ code }, session("host", { profile: "plan" }))).result.output).toContain(
      "PLAN_MODE_ACTIVE",
    )
    expect((await runScript({ code }, session("backend", { profile: "plan" }))).result.error).toContain(
      "PLAN_MODE_ACTIVE",
    )
    expect(existsSync(join(server.directory, "x"))).toBe(false)
  })
})

describe.skipIf(noPodman !== undefined)(titleWithReason("scripts of a session in a container", noPodman), () => {
  let engine: TestPodman
  beforeAll(() => {
    // podman accepts only short paths.
    process.env["TMPDIR"] = dirname(TEMPORARY)
    engine = startPodman()
    process.env["TMPDIR"] = TEMPORARY
  })
  afterAll(async () => {
    await closeScriptSessions()
    engine[Symbol.dispose]()
  })
  const session = (location: "host" | "backend", more = {}) => ({
    config: `code_execution:
  location: ${location}
terminal:
  backend: docker
  docker_image: ${engine.image}
  container_persistent: false
  docker_persist_across_processes: false
  docker_volumes: ["/usr:/usr:ro", "/lib:/lib:ro", "/lib64:/lib64:ro", "${realpathSync(process.execPath)}:/opt/node:ro"]
  docker_env: { PATH: "/opt:/usr/bin:/bin", SECRET_TOKEN: "canary" }
`,
    env: { HERMES_DOCKER_BINARY: engine.program },
    profile: "full-auto",
    sharesSession: true as const,
    ...more,
  })

  test.each(SCRIPTS)("$language on this machine reaches the container through tools", async (call) => {
    const { result } = await runScript(call, session("host"))
    expect(result).toMatchObject({ output: "2 1|text 2 2 false\nfalse", tool_calls_made: 4 })
  })

  test.each(SCRIPTS)("$language in the container calls tools through files", async (call) => {
    const { result } = await runScript(call, session("backend"))
    expect(result).toMatchObject({ output: "2 1|text 2 2 true\nfalse", tool_calls_made: 4 })
  })
})
