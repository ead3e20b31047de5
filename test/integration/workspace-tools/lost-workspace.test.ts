import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import { podmanUnavailableReason, startPodman } from "../../support/podman.ts"
import { sshdUnavailableReason, startSshd } from "../../support/sshd.ts"
import { manualClock } from "../../support/manual-clock.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

// What the model reads when its workspace or working directory disappears: an error it can act on, and no half-written file.

describe("a removed working directory", () => {
  test("between two calls: commands run in the nearest ancestor with a note, file tools report missing files", async () => {
    await using app = await assembleApp([], { config: QUIET })
    await using tools = await openToolSession(app)
    const { workdir } = app.home
    await tools.fields("terminal", { command: "mkdir -p a/b && cd a/b" })
    rmSync(join(workdir, "a"), { recursive: true })
    expect((await tools.fields("read_file", { path: "x" }))["error"]).toContain(`file not found: ${workdir}/a/b/x`)
    expect((await tools.fields("search_files", { pattern: "x" }))["error"]).toContain(`${workdir}/a/b`)
    expect(await tools.fields("terminal", { command: "pwd" })).toEqual({
      output: workdir,
      exit_code: 0,
      error: null,
      cwd_note: `The working directory ${workdir}/a/b no longer exists; the command ran in ${workdir}.`,
    })
    expect(await tools.fields("write_file", { path: "x", content: "1" })).toMatchObject({ bytes_written: 1 })
    expect(readFileSync(join(workdir, "x"), "utf8")).toBe("1")
  })

  test("of the session, with and without the sandbox: the next command still runs", async () => {
    for (const sandbox of ["off", "auto"]) {
      await using app = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox: ${sandbox}\n` })
      await using tools = await openToolSession(app)
      const { workdir } = app.home
      await tools.fields("terminal", { command: "true" })
      renameSync(workdir, `${workdir}-elsewhere`)
      const result = await tools.fields("terminal", { command: "echo still here" })
      expect([sandbox, result]).toEqual([
        sandbox,
        expect.objectContaining({ output: "still here", cwd_note: expect.stringContaining("no longer exists") }),
      ])
    }
  })
})

test("a killed shell is reported with its signal, and the next call keeps the state", async () => {
  await using app = await assembleApp([], { config: QUIET })
  await using tools = await openToolSession(app)
  await tools.fields("terminal", { command: "export KEPT=yes" })
  expect(await tools.fields("terminal", { command: "echo printed; kill -KILL $$" })).toMatchObject({
    output: "printed",
    exit_code: 137,
  })
  expect(await tools.fields("terminal", { command: "exec no-such-program" })).toMatchObject({ exit_code: 127 })
  expect(await tools.fields("terminal", { command: "echo $KEPT" })).toMatchObject({ output: "yes", exit_code: 0 })
})

const cannotMount = process.platform === "linux" && process.getuid?.() === 0 ? undefined : "it needs root on Linux"

test.skipIf(cannotMount !== undefined)(
  titleWithReason(
    "a disk that fills up during a patch: the result lists what was applied, and no file is half-written",
    cannotMount,
  ),
  async () => {
    await using app = await assembleApp([], { config: QUIET })
    const disk = join(app.home.workdir, "disk")
    mkdirSync(disk)
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", disk], { encoding: "utf8" })
    expect(mounted.stderr).toBe("")
    try {
      await using tools = await openToolSession(app)
      for (const name of ["a", "b", "c"]) writeFileSync(join(disk, name), `${name}1\n`)
      const large = `+${"x".repeat(60_000)}`
      const patch = [
        "*** Begin Patch",
        "*** Update File: disk/a",
        "-a1",
        "+a2",
        "*** Update File: disk/b",
        "-b1",
        large,
        "*** Update File: disk/c",
        "-c1",
        "+c2",
        "*** Add File: disk/new",
        "+n",
        "*** End Patch",
      ].join("\n")
      const result = await tools.fields("patch", { mode: "patch", patch })
      expect(result).toMatchObject({
        success: false,
        files_modified: [join(disk, "a")],
        error:
          "UPDATE 'disk/b': no space left on the disk. Stopped there; applied: UPDATE 'disk/a'; " +
          "not applied: UPDATE 'disk/b', UPDATE 'disk/c', ADD 'disk/new'. Check the diff before you continue.",
      })
      const remaining = Object.fromEntries(
        readdirSync(disk).map((name) => [name, readFileSync(join(disk, name), "utf8")]),
      )
      expect(remaining).toEqual({ a: "a2\n", b: "b1\n", c: "c1\n" })
      expect((await tools.fields("write_file", { path: "disk/d", content: "x".repeat(80_000) }))["error"]).toBe(
        "cannot write disk/d: no space left on the disk; nothing was changed",
      )
      expect(readdirSync(disk).toSorted()).toEqual(["a", "b", "c"])
    } finally {
      spawnSync("umount", ["-l", disk])
    }
  },
)

const noPodman = podmanUnavailableReason()

test.skipIf(noPodman !== undefined)(
  titleWithReason(
    "a container that is removed: the running command reports it, the next one gets a new container",
    noPodman,
  ),
  async () => {
    using engine = startPodman()
    await using app = await assembleApp([], {
      config: `${QUIET}terminal:\n  backend: docker\n  docker_image: ${engine.image}\n`,
      env: { HERMES_DOCKER_BINARY: engine.program },
    })
    await using tools = await openToolSession(app)
    await tools.fields("write_file", { path: "kept", content: "kept\n" })
    app.model.push(callsTool("terminal", { command: "echo begun; sleep 100" }), says("Oh."))
    await runToEnd(tools.session, "wait", (event) => {
      if (event.type === "tool-progress" && event.text.includes("begun"))
        engine.podman("rm", "--all", "--force", "-t", "0")
    })
    const lost = app.model.toolResults(app.model.requests.length - 1)[0]?.text ?? ""
    expect(JSON.parse(lost)).toMatchObject({
      output: "begun",
      exit_code: expect.any(Number),
      error: expect.stringMatching(/container.*check before you run it again/u),
    })
    // The files of a container outlive it.
    expect(await tools.fields("read_file", { path: "kept" })).toMatchObject({ content: "1|kept" })
    await tools.fields("terminal", { command: "export GIVEN=1; echo 'export STARTED=2' >~/.bashrc" })
    engine.podman("rm", "--all", "--force", "-t", "0")
    const inspect = { command: "cat kept; echo [$GIVEN] [$STARTED]" }
    const again = await tools.fields("terminal", inspect)
    expect(again).toMatchObject({ output: "kept\n[] [2]", exit_code: 0 })
    expect(again["workspace_note"]).toMatch(/has been recreated: earlier variables, functions and processes are gone/u)
    expect(await tools.fields("terminal", inspect)).toEqual({ output: "kept\n[] [2]", exit_code: 0, error: null })
  },
)

const noSshd = sshdUnavailableReason()

test.skipIf(noSshd !== undefined)(
  titleWithReason(
    "an ssh connection that drops: the running command reports it, the next one reconnects; an unreachable server is named",
    noSshd,
  ),
  async () => {
    await using server = await startSshd()
    const clock = manualClock()
    await using app = await assembleApp([], {
      clock,
      config:
        `${QUIET}terminal:\n  backend: ssh\n  ssh_host: 127.0.0.1\n  ssh_user: root\n  ssh_port: ${server.port}\n` +
        `  ssh_key: ${server.keyFile}\n  cwd: ${server.directory}\n`,
      env: server.clientEnvironment,
    })
    await using tools = await openToolSession(app)
    await tools.fields("terminal", { command: "export KEPT=yes; printf old >note" })
    app.model.push(callsTool("terminal", { command: "echo begun; sleep 100" }), says("Oh."))
    await runToEnd(tools.session, "wait", (event) => {
      if (event.type === "tool-progress" && event.text.includes("begun")) server.cutConnections()
    })
    const lost = app.model.toolResults(app.model.requests.length - 1)[0]?.text ?? ""
    expect(JSON.parse(lost)).toEqual({
      output: "begun",
      exit_code: -1,
      error:
        "the connection was lost while the command ran: the connection to root@127.0.0.1 broke; the next command opens a new one. " +
        "It may have done part of its work or still be running; check before you run it again",
    })
    expect(await tools.fields("terminal", { command: "echo $KEPT; cat note" })).toMatchObject({ output: "yes\nold" })

    await server.stop()
    const away =
      "root@127.0.0.1 cannot be reached: nothing listens on that port; check terminal.ssh_port and that sshd is running"
    expect((await tools.fields("write_file", { path: "note", content: "new" }))["error"]).toContain(away)
    // Commands are retried with a delay: advance the clock until they fail.
    let hasEnded = false
    const retried = tools.fields("terminal", { command: "cat note" }).finally(() => {
      hasEnded = true
    })
    const advanceUntilEnd = async (): Promise<boolean> => {
      await clock.advance(1000)
      return hasEnded
    }
    await expect.poll(advanceUntilEnd, { interval: 1, timeout: 20_000 }).toBe(true)
    expect(await retried).toEqual({ output: "", exit_code: -1, error: `the command was not run: ${away}` })
    expect(readFileSync(join(server.directory, "note"), "utf8")).toBe("old")
  },
)
