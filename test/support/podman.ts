import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** A container engine of the test's own: its store, its image and a program that leads to them. */
export interface PodmanPeer extends Disposable {
  /** For HERMES_DOCKER_BINARY. */
  readonly program: string
  /** A small image with BusyBox and bash. */
  readonly image: string
  /** Every call that was made of the program, as its argument list. */
  calls(): readonly (readonly string[])[]
  podman(...args: readonly string[]): string
}

/** Why no container can be run here, or undefined. */
export function podmanMissing(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "podman is tested on Linux as root"
  return ["podman", "runc", "catatonit", "busybox", "bash"].flatMap((program) =>
    spawnSync("sh", ["-c", `command -v ${program}`]).status === 0 ? [] : [`${program} is not installed`],
  )[0]
}

/** Starts nothing by itself: podman has no daemon. */
export function startPodman(): PodmanPeer {
  const folder = mkdtempSync(join(tmpdir(), "podman-"))
  const image = "localhost/hermes-test:busybox"
  const program = join(folder, "engine")
  const log = join(folder, "calls")
  writeFileSync(join(folder, "containers.conf"), CONTAINERS_CONF)
  writeFileSync(program, wrapper(folder, log))
  chmodSync(program, 0o755)
  writeFileSync(log, "")
  const podman = (...args: readonly string[]): string => {
    const answer = spawnSync(program, args, { encoding: "utf8", env: { PATH: process.env["PATH"], HOME: folder } })
    if (answer.status !== 0) throw new Error(`podman ${args.join(" ")}: ${answer.stderr}`)
    return answer.stdout
  }
  const rootfs = join(folder, "rootfs")
  makeRootFiles(rootfs)
  const packed = spawnSync("sh", ["-c", `tar -C "$1" -c . | "$2" import - "$3"`, "sh", rootfs, program, image], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: folder },
  })
  if (packed.status !== 0) throw new Error(`the test image could not be made: ${packed.stderr}`)
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
      spawnSync(program, ["rm", "--all", "--force", "-t", "0"], { env: { PATH: process.env["PATH"], HOME: folder } })
      spawnSync("sh", [
        "-c",
        // What the engine has mounted may still be held by a helper that is about to end: it is let go of by name.
        `grep -o " $1/[^ ]*" /proc/mounts | sort -r | xargs -r umount -l 2>/dev/null; true`,
        "sh",
        folder,
      ])
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Limits that a container without further rights cannot set, and a runtime that knows both generations of control groups. */
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "none"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`

function wrapper(folder: string, log: string): string {
  return `#!/bin/sh
{ printf '%s\\002' "$@"; printf '\\001\\n'; } >>'${log}'
export CONTAINERS_CONF='${folder}/containers.conf'
exec podman --root '${folder}/store' --runroot '${folder}/run' --tmpdir '${folder}/tmp' --storage-driver vfs "$@"
`
}

function makeRootFiles(rootfs: string): void {
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
