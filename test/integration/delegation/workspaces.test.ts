import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { podmanUnavailableReason, startPodman } from "../../support/podman.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembleOptions } from "../assembled-app.ts"
import { delegatingModel, delegationResult } from "./delegating-model.ts"

const noSshd = sshdUnavailableReason()
const noPodman = podmanUnavailableReason()

/** Two sub-agents work where the session works: in its files, each with a shell of its own. */
async function delegateIn(options: AssembleOptions) {
  const works = (name: string) => [
    callsTool("terminal", { command: `mkdir -p ${name} && cd ${name} && echo from ${name} > made && pwd` }),
    callsTool("terminal", { command: "pwd; cat made" }),
    callsTool("read_file", { path: "../notes.txt" }),
    says(`${name} is done.`),
  ]
  const model = delegatingModel({
    "": [
      callsTool("write_file", { path: "notes.txt", content: "tea\n" }),
      callsTool("delegate_task", { tasks: [{ goal: "one" }, { goal: "two" }] }, { id: "d" }),
      callsTool("terminal", { command: "pwd; cat one/made two/made" }, { id: "t" }),
      says("Done."),
    ],
    one: works("one"),
    two: works("two"),
  })
  await using assembled = await assembleApp(model.script, options)
  const session = await assembled.open({ permissionProfile: "full-auto" })
  const { end } = await runToEnd(session, "go")
  const results = (goal: string): string => JSON.stringify(model.requestsOf(goal).at(-1)?.body)
  return {
    answer: end.result.finalResponse,
    reports: delegationResult(model.requestsOf("")[2]).results,
    one: results("one"),
    two: results("two"),
    parent: results("").slice(-1500),
    isOnThisMachine: existsSync(join(assembled.home.workdir, "one")),
  }
}

describe.skipIf(noSshd !== undefined)(titleWithReason("sub-agents on another machine", noSshd), () => {
  test("work there, in the files of the session, each in its own directory", async () => {
    await using server = await startSshd()
    const done = await delegateIn({
      config: `terminal:
  backend: ssh
  ssh_host: 127.0.0.1
  ssh_user: root
  ssh_port: ${server.port}
  ssh_key: ${server.keyFile}
  cwd: ${server.directory}
`,
      env: { HERMES_SSH_BINARY: server.clientEnvironment["HERMES_SSH_BINARY"] ?? "" },
    })
    expect(done.reports).toMatchObject([
      { status: "completed", summary: "one is done." },
      { status: "completed", summary: "two is done." },
    ])
    expect(readFileSync(join(server.directory, "two/made"), "utf8")).toBe("from two\n")
    expect(done.one).toContain(`${server.directory}/one`)
    expect(done.one).toContain("from one")
    expect(done.one).not.toContain("from two")
    expect(done.two).toContain("1|tea")
    expect(done.parent).toMatch(/from one(?:\\\\)+nfrom two/u)
    expect(done.isOnThisMachine).toBe(false)
  }, 60_000)
})

describe.skipIf(noPodman !== undefined)(titleWithReason("sub-agents in a container", noPodman), () => {
  test("work in the container of the session, each in its own directory", async () => {
    using engine = startPodman()
    const done = await delegateIn({
      config: `terminal:
  backend: docker
  docker_image: ${engine.image}
  container_persistent: false
  docker_persist_across_processes: false
`,
      env: { HERMES_DOCKER_BINARY: engine.program },
    })
    expect(done.reports).toMatchObject([
      { status: "completed", summary: "one is done." },
      { status: "completed", summary: "two is done." },
    ])
    expect(done.one).toContain("from one")
    expect(done.one).not.toContain("from two")
    expect(done.two).toContain("1|tea")
    expect(done.parent).toMatch(/from one(?:\\\\)+nfrom two/u)
    expect(done.isOnThisMachine).toBe(false)
  }, 120_000)
})
