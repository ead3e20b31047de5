import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** A podman with its own image store, and a wrapper program that uses it. */
export interface TestPodman extends Disposable {
  /** The wrapper, for HERMES_DOCKER_BINARY. */
  readonly program: string
  /** A small image with BusyBox and bash. */
  readonly image: string
  /** The argument lists of all calls of the wrapper, in order. */
  calls(): readonly (readonly string[])[]
  podman(...args: readonly string[]): string
}

/** Returns why tests cannot run containers here, or undefined when they can. */
export function podmanUnavailableReason(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "podman is tested on Linux as root"
  return ["podman", "runc", "catatonit", "busybox", "bash"].flatMap((program) =>
    spawnSync("sh", ["-c", `command -v ${program}`]).status === 0 ? [] : [`${program} is not installed`],
  )[0]
}

/** Creates the store and imports the image. No process keeps running, because podman has no daemon. */
export function startPodman(): TestPodman {
  const directory = mkdtempSync(join(tmpdir(), "podman-"))
  const image = "localhost/hermes-test:busybox"
  const program = join(directory, "engine")
  const log = join(directory, "calls")
  writeFileSync(join(directory, "containers.conf"), CONTAINERS_CONF)
  writeFileSync(program, wrapper(directory, log))
  chmodSync(program, 0o755)
  writeFileSync(log, "")
  const podman = (...args: readonly string[]): string => {
    const result = spawnSync(program, args, { encoding: "utf8", env: { PATH: process.env["PATH"], HOME: directory } })
    if (result.status !== 0) throw new Error(`podman ${args.join(" ")}: ${result.stderr}`)
    return result.stdout
  }
  const rootfs = join(directory, "rootfs")
  createRootFileSystem(rootfs)
  const imported = spawnSync("sh", ["-c", `tar -C "$1" -c . | "$2" import - "$3"`, "sh", rootfs, program, image], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: directory },
  })
  if (imported.status !== 0) throw new Error(`cannot import the test image: ${imported.stderr}`)
  return {
    program,
    image,
    calls: () =>
      spawnSync("cat", [log], { encoding: "utf8" })
        .stdout.split("\u0001\n")
        .filter((call) => call !== "")
        .map((call) => call.split("\u0002").slice(0, -1)),
    podman,
    [Symbol.dispose]() {
      spawnSync(program, ["rm", "--all", "--force", "-t", "0"], { env: { PATH: process.env["PATH"], HOME: directory } })
      spawnSync("sh", [
        "-c",
        // A helper process that is still exiting may hold a mount, so unmount lazily.
        `grep -o " $1/[^ ]*" /proc/mounts | sort -r | xargs -r umount -l 2>/dev/null; true`,
        "sh",
        directory,
      ])
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Fixed limits, because an unprivileged container cannot raise them, and runc, which supports cgroups v1 and v2. */
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "none"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`

function wrapper(directory: string, log: string): string {
  return `#!/bin/sh
{ printf '%s\\002' "$@"; printf '\\001\\n'; } >>'${log}'
export CONTAINERS_CONF='${directory}/containers.conf'
exec podman --root '${directory}/store' --runroot '${directory}/run' --tmpdir '${directory}/tmp' --storage-driver vfs "$@"
`
}

function createRootFileSystem(rootfs: string): void {
  for (const name of ["bin", "etc", "tmp", "proc", "sys", "dev", "root", "workspace", "home", "run", "var/tmp"]) {
    mkdirSync(join(rootfs, name), { recursive: true })
  }
  for (const program of ["busybox", "bash"]) {
    const found = spawnSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).stdout.trim()
    copyFileSync(found, join(rootfs, "bin", program))
  }
  for (const library of spawnSync("ldd", [join(rootfs, "bin/bash")], { encoding: "utf8" }).stdout.matchAll(/\/\S+/g)) {
    if (!existsSync(library[0])) continue
    mkdirSync(join(rootfs, dirname(library[0])), { recursive: true })
    copyFileSync(library[0], join(rootfs, library[0]))
  }
  spawnSync("chroot", [rootfs, "/bin/busybox", "--install", "-s", "/bin"])
  writeFileSync(join(rootfs, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")
  writeFileSync(join(rootfs, "etc/group"), "root:x:0:\n")
}
