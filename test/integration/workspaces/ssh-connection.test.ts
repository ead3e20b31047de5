import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { openSshWorkspace } from "../../../src/exec/remote/ssh-workspace.ts"
import type { SshOptions } from "../../../src/exec/remote/ssh-workspace.ts"
import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import type { TestSshd } from "../../support/sshd.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const missing = sshdUnavailableReason()
const limits = () => ({ timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 10_000 })

async function socketDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "s-"))
  return { path, [Symbol.asyncDispose]: async () => await rm(path, { recursive: true, force: true }) }
}

function settings(server: TestSshd, temporaryDirectory: string, changes: Partial<SshOptions> = {}): SshOptions {
  return {
    clientEnvironment: server.clientEnvironment,
    host: "127.0.0.1",
    user: "root",
    port: server.port,
    keyFile: server.keyFile,
    cwd: server.directory,
    temporaryDirectory,
    startupFiles: [],
    signal: new AbortController().signal,
    ...changes,
  }
}

describe.skipIf(missing !== undefined)(titleWithReason("ssh connection", missing), () => {
  test("commands and file operations share one connection, which closes with the workspace", async () => {
    await using server = await startSshd()
    await using sockets = await socketDirectory()
    const opened = await openSshWorkspace(settings(server, sockets.path))
    if (!opened.ok) throw new Error(opened.error)
    await opened.value.run("true", limits()).exit
    await opened.value.files.write("note", "x")
    expect(server.connections()).toBe(1)
    await opened.value.close()
    await expect.poll(() => server.connections()).toBe(0)
  })

  test("a dropped connection is reported by the running command, and the next one reconnects", async () => {
    await using server = await startSshd()
    await using sockets = await socketDirectory()
    const opened = await openSshWorkspace(settings(server, sockets.path))
    if (!opened.ok) throw new Error(opened.error)
    const workspace = opened.value
    await workspace.run("export KEPT=yes", { ...limits(), keepState: true }).exit
    const running = workspace.run("echo begun; sleep 60", limits())
    for await (const text of running.output) if (text.includes("begun")) server.cutConnections()
    expect(await running.exit).toEqual({
      how: "exited",
      code: -1,
      output: "begun\n",
      omittedChars: 0,
      error:
        "the connection was lost while the command ran: the connection to root@127.0.0.1 broke; the next command opens a new one. It may have done part of its work or still be running; check before you run it again",
    })
    expect((await workspace.run("printf $KEPT", { ...limits(), keepState: true }).exit).output).toBe("yes")
    await workspace.close()
  })

  test("a file is not half replaced when the connection drops during a write", async () => {
    await using server = await startSshd()
    await using sockets = await socketDirectory()
    const opened = await openSshWorkspace(settings(server, sockets.path))
    if (!opened.ok) throw new Error(opened.error)
    const { files } = opened.value
    await files.write("big", "before")
    const writing = files.write("big", "x".repeat(60_000_000)).then(
      () => "written",
      () => "failed",
    )
    await expect.poll(async () => await server.hasFile(/^\.hermes-.*\.tmp$/), { interval: 1 }).toBe(true)
    server.cutConnections()
    const outcome = await writing
    const after = Buffer.from(await files.read("big")).length
    expect([outcome, after]).toEqual(outcome === "failed" ? ["failed", 6] : ["written", 60_000_000])
    await opened.value.close()
  })

  test("an unreachable server is reported before anything starts", async () => {
    await using sockets = await socketDirectory()
    const server = await startSshd()
    const opened = await openSshWorkspace(settings(server, sockets.path))
    if (!opened.ok) throw new Error(opened.error)
    await server.stop()
    const exit = await opened.value.run("echo hi", limits()).exit
    expect(exit).toEqual({
      how: "failed-to-start",
      code: -1,
      output: "",
      omittedChars: 0,
      unreachable: true,
      error:
        "root@127.0.0.1 cannot be reached: nothing listens on that port; check terminal.ssh_port and that sshd is running",
    })
    await expect(opened.value.files.read("x")).rejects.toThrow("nothing listens on that port")
    await opened.value.close()
    await server[Symbol.asyncDispose]()
  })

  test("an invalid setting is reported with its name", async () => {
    await using server = await startSshd()
    await using sockets = await socketDirectory()
    const errorOf = async (changes: Partial<SshOptions>): Promise<string> => {
      const opened = await openSshWorkspace(settings(server, sockets.path, changes))
      return opened.ok ? "opened" : opened.error
    }
    expect([
      await errorOf({ host: "" }),
      await errorOf({ host: "-oProxyCommand=evil" }),
      await errorOf({ keyFile: "/no/such/key" }),
      await errorOf({ user: "nobody" }),
      await errorOf({ host: "no-such-host.invalid" }),
      await errorOf({ clientEnvironment: { PATH: "/nowhere" } }),
    ]).toEqual([
      "the ssh backend has no host; set terminal.ssh_host",
      "terminal.ssh_host and terminal.ssh_user must not begin with a dash",
      "the key file /no/such/key does not exist; correct terminal.ssh_key",
      expect.stringContaining("check terminal.ssh_user and terminal.ssh_key"),
      "root@no-such-host.invalid cannot be reached: the host name cannot be resolved; check terminal.ssh_host",
      "ssh is not installed; install the OpenSSH client",
    ])
  })
})
