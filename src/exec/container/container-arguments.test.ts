import { expect, test } from "vitest"

import { checkVolume, runArguments, sanitiseTaskId } from "./container-arguments.ts"
import type { ContainerPlan } from "./container-arguments.ts"

const plan: ContainerPlan = {
  name: "hermes-0123456789ab",
  image: "debian:12",
  hasOwnInit: false,
  cpus: 1,
  memoryMb: 5120,
  diskMb: 51_200,
  network: true,
  hostUser: undefined,
  taskId: "default",
  profile: "work",
  storage: {
    kind: "kept",
    home: "/h/sandboxes/docker/default/home",
    workspace: "/h/sandboxes/docker/default/workspace",
  },
  workspaceBind: undefined,
  readOnlyBinds: [{ source: "/h/skills", target: "/root/.hermes/skills" }],
  volumes: ["/data:/data:ro"],
  variables: { A: "x y" },
  extraArguments: ["--shm-size", "1g"],
}

const HARDENED = [
  "--cap-drop ALL --cap-add DAC_OVERRIDE --cap-add CHOWN --cap-add FOWNER --cap-add SETUID --cap-add SETGID",
  "--security-opt no-new-privileges --pids-limit 256",
  "--tmpfs /tmp:rw,nosuid,size=512m --tmpfs /var/tmp:rw,noexec,nosuid,size=256m --tmpfs /run:rw,noexec,nosuid,size=64m",
].join(" ")
const LABELS = "--label hermes-agent=1 --label hermes-task-id=default --label hermes-profile=work"

test("docker run gets all options of a persistent container", () => {
  expect(runArguments(plan)).toEqual([
    ...`run --detach --name hermes-0123456789ab --init ${HARDENED} --cpus 1 --memory 5120m --storage-opt size=51200m`.split(
      " ",
    ),
    ...LABELS.split(" "),
    "--volume",
    "/h/sandboxes/docker/default/home:/root",
    "--volume",
    "/h/sandboxes/docker/default/workspace:/workspace",
    "--volume",
    "/h/skills:/root/.hermes/skills:ro",
    "--volume",
    "/data:/data:ro",
    "--env",
    "A=x y",
    "--shm-size",
    "1g",
    "debian:12",
    "sleep",
    "infinity",
  ])
})

test("docker run gets all options of a temporary container as the host user, without network and limits", () => {
  const other: ContainerPlan = {
    ...plan,
    hasOwnInit: true,
    cpus: 0,
    memoryMb: 0,
    diskMb: undefined,
    network: false,
    hostUser: "1000:1000",
    storage: { kind: "temporary" },
    readOnlyBinds: [],
    volumes: [],
    variables: {},
    extraArguments: [],
  }
  const words = `run --detach --name hermes-0123456789ab ${HARDENED} --network=none --user 1000:1000 ${LABELS}`
    .replace(" --cap-add SETUID --cap-add SETGID", "")
    .replace("/run:rw,noexec,", "/run:rw,exec,")
  const storage = "--tmpfs /workspace:rw,exec,size=10g --tmpfs /home:rw,exec,size=1g --tmpfs /root:rw,exec,size=1g"
  expect(runArguments(other)).toEqual(`${words} ${storage} debian:12 sleep infinity`.split(" "))
})

test.each([
  [
    "the configured host directory",
    { workspaceBind: "/home/me/project", volumes: [] },
    ["/home/me/project:/workspace"],
  ],
  ["a configured volume", { workspaceBind: "/home/me/project", volumes: ["/own:/workspace"] }, ["/own:/workspace"]],
])("/workspace is %s", (_, changes, expected) => {
  const args = runArguments({ ...plan, ...changes })
  expect(args.filter((word) => word.endsWith(":/workspace"))).toEqual(expected)
})

test.each([
  ["/data:/data", true],
  ["named-volume:/data:ro", true],
  ["/var/run/docker.sock:/var/run/docker.sock", true],
  ["/data", false],
  ["data/x:/data", false],
  ["/data:data", false],
  ["/data:/data:ro:z", false],
  ["/data:/data:shared", false],
  ["/:/host", false],
  ["/var/run/:/host", false],
])("volume %s", (volume, accepted) => {
  expect(checkVolume(volume).kind === "accepted").toBe(accepted)
})

test.each([
  ["default", "default"],
  ["a b/c", "a-b-c"],
  ["../../etc", "etc"],
  ["…", "default"],
  ["x".repeat(100), "x".repeat(63)],
])("task %s becomes %s", (task, expected) => {
  expect(sanitiseTaskId(task)).toBe(expected)
})
