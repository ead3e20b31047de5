import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import { systemClock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { findEngine } from "../../../src/exec/container/container-engine.ts"
import { openContainerWorkspace } from "../../../src/exec/container/container-workspace.ts"
import type { ContainerOptions } from "../../../src/exec/container/container-workspace.ts"
import type { Workspace } from "../../../src/exec/workspace.ts"
import { podmanUnavailableReason, startPodman } from "../../support/podman.ts"
import type { TestPodman } from "../../support/podman.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"
import { containerOptions } from "./container-options.ts"
import { titleWithReason } from "../../support/skip-reason.ts"

const missing = podmanUnavailableReason()
const limits = () => ({ timeoutMs: 25_000, signal: new AbortController().signal, keepChars: 10_000 })

describe.skipIf(missing !== undefined)(titleWithReason("containers", missing), () => {
  let engine: TestPodman
  let home: TemporaryHome
  beforeAll(async () => {
    engine = startPodman()
    home = await temporaryHome()
  })
  afterAll(async () => {
    engine[Symbol.dispose]()
    await home[Symbol.asyncDispose]()
  })
  const open = async (changes: Partial<ContainerOptions> & { readonly taskId: string }): Promise<Workspace> => {
    const opened = await openContainerWorkspace(containerOptions(engine, home, { startupFiles: [], ...changes }))
    if (!opened.ok) throw new Error(opened.error)
    return opened.value
  }
  const outputOf = async (workspace: Workspace, command: string): Promise<string> =>
    (await workspace.run(command, limits()).exit).output
  /** The containers of a task: id and state. */
  const containers = (taskId: string): readonly string[] =>
    engine
      .podman("ps", "--all", "--filter", `label=hermes-task-id=${taskId}`, "--format", "{{.ID}} {{.State}}")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.replace(/ Up .*$/, " running").replace(/ Exited.*$/, " exited"))

  test("the container is restricted as its arguments demand", async () => {
    const workspace = await open({ taskId: "restricted", isPersistent: false, survivesProcess: false })
    expect(
      await outputOf(
        workspace,
        "grep -h ^CapEff /proc/1/status; grep -h NoNewPrivs /proc/self/status; ls /sys/class/net; mount | grep -c ' /tmp type tmpfs'; touch /run/x; cp /bin/busybox /run/b; /run/b true 2>/dev/null || echo noexec; pwd",
      ),
    ).toBe("CapEff:\t00000000000000cb\nNoNewPrivs:\t1\nlo\n1\nnoexec\n/workspace\n")
    await workspace.close()
    expect(containers("restricted")).toEqual([])
  })

  test("the next process finds the same container, running or stopped, and its files", async () => {
    const first = await open({ taskId: "reuse" })
    await outputOf(first, "echo kept > note; echo lost > /var/local-note")
    await first.close()
    const [running = ""] = containers("reuse")
    expect(running).toMatch(/ running$/)
    const second = await open({ taskId: "reuse" })
    expect([containers("reuse"), await outputOf(second, "cat note /var/local-note")]).toEqual([
      [running],
      "kept\nlost\n",
    ])
    await second.close()
    engine.podman("stop", "-t", "0", running.split(" ")[0] ?? "")
    const third = await open({ taskId: "reuse", survivesProcess: false })
    expect([containers("reuse"), await outputOf(third, "cat note /var/local-note")]).toEqual([
      [running],
      "kept\nlost\n",
    ])
    await third.close()
    expect(containers("reuse")).toEqual([running.replace("running", "exited")])
    expect(await readFile(join(home.path, "sandboxes/docker/reuse/workspace/note"), "utf8")).toBe("kept\n")
  })

  test("other settings create another container", async () => {
    const one = await open({ taskId: "settings", memoryMb: 256 })
    const other = await open({ taskId: "settings", memoryMb: 300 })
    expect(containers("settings").length).toBe(2)
    await one.close()
    await other.close()
  })

  test("a removed container is recreated, and the command runs in it", async () => {
    const workspace = await open({ taskId: "vanish" })
    await workspace.run("cd /tmp; export A=1", { ...limits(), keepState: true }).exit
    await outputOf(workspace, "echo kept > /workspace/note")
    engine.podman("rm", "--force", "-t", "0", containers("vanish")[0]?.split(" ")[0] ?? "")
    expect(await workspace.run("cat /workspace/note; printf ${A-new}", { ...limits(), keepState: true }).exit).toEqual({
      how: "exited",
      code: 0,
      output: "kept\nnew",
      omittedChars: 0,
      workspaceNote:
        "The workspace was lost and has been recreated: earlier variables, functions and processes are gone, the directory is the same.",
    })
    engine.podman("rm", "--force", "-t", "0", containers("vanish")[0]?.split(" ")[0] ?? "")
    expect(Buffer.from(await workspace.files.read("/workspace/note")).toString()).toBe("kept\n")
    await workspace.close()
  })

  test("a container that is removed while a command runs is reported, and nothing runs twice", async () => {
    const workspace = await open({ taskId: "under" })
    const running = workspace.run("echo x >> /workspace/times; echo begun; sleep 60", limits())
    for await (const text of running.output) {
      if (text.includes("begun")) engine.podman("rm", "--force", "-t", "0", containers("under")[0]?.split(" ")[0] ?? "")
    }
    const exit = await running.exit
    expect([
      exit.how,
      exit.code,
      exit.output,
      exit.error?.startsWith("the connection was lost while the command ran"),
    ]).toEqual(["exited", -1, "begun\n", true])
    expect(await outputOf(workspace, "cat /workspace/times")).toBe("x\n")
    await workspace.close()
  })

  test("credential files are readable, and only configured variables are set", async () => {
    await mkdir(join(home.path, "secrets"))
    await writeFile(join(home.path, "secrets/token"), "credential")
    const workspace = await open({
      taskId: "given",
      readOnlyBinds: [{ source: join(home.path, "secrets/token"), target: "/root/.hermes/secrets/token" }],
      variables: { SET: "by settings" },
      forwarded: { FORWARDED: "planted-value" },
      clientEnvironment: { ...home.env, HERMES_DOCKER_BINARY: engine.program, UNRELATED: "not passed" },
    })
    expect(
      await outputOf(
        workspace,
        "cat /root/.hermes/secrets/token; (echo x > /root/.hermes/secrets/token) 2>/dev/null || echo ' read-only'; echo $SET,$FORWARDED,$UNRELATED",
      ),
    ).toBe("credential read-only\nby settings,planted-value,\n")
    expect(engine.calls().flat().join(" ")).not.toContain("planted-value")
    await workspace.close()
  })

  test("opening removes old containers of this profile and no others", async () => {
    const label = (profile: string, task: string): string => {
      const labels = ["hermes-agent=1", `hermes-profile=${profile}`, `hermes-task-id=${task}`]
      const id = engine.podman("run", "--detach", ...labels.flatMap((one) => ["--label", one]), engine.image, "true")
      engine.podman("wait", id.trim())
      return id.trim()
    }
    const old = label("default", "old")
    const foreign = label("other", "foreign")
    const unrelated = engine.podman("run", "--detach", engine.image, "true").trim()
    const clock = { ...systemClock, now: () => Date.now() + 601_000 }
    const workspace = await open({ taskId: "reaper", clock, lifetimeSeconds: 300 })
    const left = engine.podman("ps", "--all", "--no-trunc", "--format", "{{.ID}}")
    expect([left.includes(old), left.includes(foreign), left.includes(unrelated)]).toEqual([false, true, true])
    await workspace.close()
  })

  test("an invalid volume is ignored with a warning", async () => {
    const lines: string[] = []
    const log = createLogger({
      sinks: [{ level: "WARNING", write: (line) => lines.push(line) }],
      redact: (text) => text,
    })
    const workspace = await open({
      taskId: "volumes",
      log,
      volumes: ["nonsense", "/var/run:/host", `${home.workdir}:/extra:ro`],
    })
    expect([await outputOf(workspace, "ls -d /extra /host 2>/dev/null"), lines.length]).toEqual(["/extra\n", 2])
    await workspace.close()
  })

  test("a missing image and an engine that does not respond fail with what to do", async () => {
    const image = await openContainerWorkspace(containerOptions(engine, home, { image: "localhost/none:missing" }))
    expect(image.ok ? "opened" : image.error).toMatch(
      /^the image localhost\/none:missing cannot be pulled: .*; check terminal\.docker_image and the network$/,
    )
    const signal = new AbortController().signal
    const broken = join(home.workdir, "docker")
    await writeFile(broken, "#!/bin/sh\necho 'Cannot connect to the Docker daemon at unix:///x' >&2\nexit 1\n", {
      mode: 0o755,
    })
    const down = await findEngine({ environment: { ...home.env, HERMES_DOCKER_BINARY: broken }, signal })
    expect(down.ok ? "found" : down.error).toBe(
      `no container engine responds (${broken}: Cannot connect to the Docker daemon at unix:///x); start it, or set terminal.backend to local`,
    )
  })
})
