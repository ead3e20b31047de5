import { createServer } from "node:http"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

/** A server that commands may or may not reach, and the address of one that only a direct route reaches. */
async function startServer(files: Readonly<Record<string, string>> = {}) {
  const reached: string[] = []
  const server = createServer((request, response) => {
    reached.push(request.url ?? "")
    response.end(files[request.url?.split("?")[0] ?? ""] ?? "from outside")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { reached, port, [Symbol.asyncDispose]: async () => void server.close() }
}

function config(hosts: readonly string[]): string {
  return `terminal:\n  sandbox: required\n  sandbox_network: list\n  sandbox_hosts: ${JSON.stringify(hosts)}\n`
}

describe.skipIf(missing !== undefined)(titleWithReason("commands with a list of hosts", missing), () => {
  test("reach a listed address and no other", async () => {
    await using listed = await startServer()
    await using other = await startServer()
    const fetch = (port: number) =>
      callsTool("terminal", { command: `curl -sS --max-time 10 http://127.0.0.1:${port}/x` })
    await using assembled = await assembleApp([fetch(listed.port), fetch(other.port), says("Done.")], {
      config: config([`127.0.0.1:${listed.port}`]),
    })
    const session = await assembled.open({ attended: false, permissionProfile: "full-auto" })
    await runToEnd(session, "fetch")
    expect(assembled.model.toolResults(1)[0]?.text).toContain("from outside")
    expect(assembled.model.toolResults(2)[0]?.text).toContain("is not in terminal.sandbox_hosts")
    expect([listed.reached, other.reached]).toEqual([["/x"], []])
  })

  test("git and npm use the only route there is", async () => {
    const commit = "0123456789012345678901234567890123456789"
    await using server = await startServer({
      "/repo.git/info/refs": `${commit}\trefs/heads/main\n`,
      "/repo.git/HEAD": "ref: refs/heads/main\n",
      "/left-pad": JSON.stringify({
        name: "left-pad",
        "dist-tags": { latest: "9.9.9" },
        versions: { "9.9.9": { name: "left-pad", version: "9.9.9", dist: { tarball: "http://127.0.0.1/x.tgz" } } },
      }),
    })
    const address = `127.0.0.1:${server.port}`
    const commands = [
      `git ls-remote http://${address}/repo.git`,
      `npm view left-pad version --registry http://${address}/ --no-update-notifier`,
    ]
    await using assembled = await assembleApp(
      [...commands.map((command) => callsTool("terminal", { command })), says("Done.")],
      {
        config: config([address]),
      },
    )
    await runToEnd(await assembled.open({ attended: false, permissionProfile: "full-auto" }), "look")
    expect(assembled.model.toolResults(1)[0]?.text).toContain("refs/heads/main")
    expect(assembled.model.toolResults(2)[0]?.text).toContain("9.9.9")
  })

  test("a host that is not listed becomes a question that names the command", async () => {
    await using server = await startServer()
    const command = `curl -sS --max-time 10 http://127.0.0.1:${server.port}/x`
    await using assembled = await assembleApp([callsTool("terminal", { command }), says("Done.")], {
      config: config([]),
    })
    const session = await assembled.open({ permissionProfile: "full-auto" })
    const questions: string[] = []
    await runToEnd(session, "fetch", (event) => {
      if (event.type !== "clarify-request") return
      questions.push(event.question)
      session.answer(event.requestId, { kind: "clarify", text: event.choices[0] ?? "" })
    })
    expect(questions).toHaveLength(1)
    expect(questions[0]).toContain(`wants to reach 127.0.0.1`)
    expect(questions[0]).toContain("curl -sS")
    expect(server.reached).toEqual([])
  })
})
