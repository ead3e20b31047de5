import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"

import { systemClock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { environmentFrom } from "../../../src/config/environment.ts"
import { homeAt } from "../../../src/config/home.ts"
import { loadConfig } from "../../../src/config/load-config.ts"
import { openBackend } from "../../../src/exec/open-backend.ts"
import type { BackendName, OpenBackendOptions } from "../../../src/exec/open-backend.ts"
import { createFakeCommand } from "../../support/fake-command.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"

async function optionsFor(
  backend: BackendName,
  directories: TemporaryHome,
  changes: { readonly environment?: Readonly<Record<string, string>>; readonly warnings?: string[] } = {},
): Promise<OpenBackendOptions> {
  const environment = { ...directories.env, ...changes.environment }
  const home = homeAt(directories.path, environmentFrom(environment))
  const { warnings = [] } = changes
  return {
    backend,
    home,
    environment,
    config: await loadConfig({ home, environment: environmentFrom(environment) }),
    secret: (name) => (name === "FROM_FILE" ? "file value" : undefined),
    cwd: directories.workdir,
    taskId: "default",
    isBorrowed: false,
    clock: systemClock,
    log: createLogger({ sinks: [{ level: "WARNING", write: (line) => warnings.push(line) }], redact: (text) => text }),
    signal: new AbortController().signal,
  }
}

const DOCKER = `case "$1" in
  version) ;;
  image) echo null ;;
  ps) ;;
  create) echo "storage-opt is not supported" >&2; exit 1 ;;
  run) echo 0123456789abcdef ;;
  inspect) echo true ;;
  exec) while [ "$1" != sh ]; do shift; done; exec "$@" ;;
esac`

test("docker: the settings determine the arguments of docker run", async () => {
  await using home = await temporaryHome({
    config: `terminal:
  docker_image: debian:12
  docker_network: false
  docker_mount_cwd_to_workspace: true
  docker_forward_env: [MINE, FROM_FILE]
  env_passthrough: [OPENAI_API_KEY]
  docker_env: { SET: "1" }
  credential_files: [token.json, ../outside, /etc/passwd, missing.json]
  container_memory: 1024
`,
    files: { "token.json": "{}", "skills/a/SKILL.md": "x" },
  })
  const docker = createFakeCommand(home.workdir, "docker", DOCKER)
  const warnings: string[] = []
  const environment = {
    HERMES_DOCKER_BINARY: join(docker.directory, "docker"),
    MINE: "mine",
    OPENAI_API_KEY: "planted-secret",
  }
  const opened = await openBackend(await optionsFor("docker", home, { environment, warnings }))
  if (!opened.ok) throw new Error(opened.error)
  const limits = { timeoutMs: 10_000, signal: new AbortController().signal, keepChars: 1000, cwd: "/" }
  const { output } = await opened.value.run("echo $MINE,$FROM_FILE", limits).exit
  await opened.value.close()
  const run = docker.calls().find((call) => call[0] === "run") ?? []
  expect([run[3]?.replace(/[0-9a-f]{12}$/, "<hash>"), output, warnings.length]).toEqual([
    "hermes-<hash>",
    "mine,file value\n",
    4,
  ])
  expect(run.toSpliced(0, 4)).toEqual([
    ..."--init --cap-drop ALL --cap-add DAC_OVERRIDE --cap-add CHOWN --cap-add FOWNER --cap-add SETUID --cap-add SETGID".split(
      " ",
    ),
    ..."--security-opt no-new-privileges --pids-limit 256 --tmpfs /tmp:rw,nosuid,size=512m".split(" "),
    ..."--tmpfs /var/tmp:rw,noexec,nosuid,size=256m --tmpfs /run:rw,noexec,nosuid,size=64m".split(" "),
    ..."--cpus 1 --memory 1024m --network=none --label hermes-agent=1 --label hermes-task-id=default".split(" "),
    "--label",
    "hermes-profile=default",
    "--volume",
    `${home.path}/sandboxes/docker/default/home:/root`,
    "--volume",
    `${home.workdir}:/workspace`,
    "--volume",
    `${home.path}/skills:/root/.hermes/skills:ro`,
    "--volume",
    `${home.path}/token.json:/root/.hermes/token.json:ro`,
    "--env",
    "SET=1",
    "debian:12",
    "sleep",
    "infinity",
  ])
  expect(docker.calls().flat().join(" ")).not.toContain("planted-secret")
})

test("a missing program or setting fails with one sentence that says what to do", async () => {
  await using home = await temporaryHome()
  await writeFile(join(home.workdir, "x"), "")
  const environment = { PATH: home.workdir, HERMES_DOCKER_BINARY: join(home.workdir, "no-docker") }
  const errors: Record<string, string> = {}
  for (const backend of ["docker", "ssh", "singularity", "modal", "daytona"] as const) {
    const opened = await openBackend(await optionsFor(backend, home, { environment }))
    errors[backend] = opened.ok ? "opened" : opened.error
  }
  expect(errors).toEqual({
    docker: `no container engine responds (${join(home.workdir, "no-docker")}: no such file or directory); start it, or set terminal.backend to local`,
    ssh: "the ssh backend has no host; set terminal.ssh_host",
    singularity: "neither apptainer nor singularity is installed; install one, or set terminal.backend to local",
    modal: "the modal backend needs python3; install it",
    daytona: "the daytona program is not installed; install it, or set terminal.backend to local",
  })
})
