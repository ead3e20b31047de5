import { join } from "node:path"

import { systemClock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import type { ContainerOptions } from "../../../src/exec/container/container-workspace.ts"
import type { TestPodman } from "../../support/podman.ts"
import type { TemporaryHome } from "../../support/temporary-home.ts"

/** The settings as they come out of the box, for the test's own engine. */
export function containerOptions(
  engine: Pick<TestPodman, "program" | "image">,
  home: TemporaryHome,
  changes: Partial<ContainerOptions> = {},
): ContainerOptions {
  return {
    clientEnvironment: { ...home.env, HERMES_DOCKER_BINARY: engine.program },
    image: engine.image,
    taskId: "default",
    profile: "default",
    sandboxes: join(home.path, "sandboxes/docker"),
    isPersistent: true,
    survivesProcess: true,
    removesOrphans: true,
    lifetimeSeconds: 300,
    cpus: 1,
    memoryMb: 512,
    diskMb: 0,
    network: false,
    runsAsHostUser: false,
    workspaceBind: undefined,
    readOnlyBinds: [],
    volumes: [],
    variables: {},
    forwarded: {},
    extraArguments: [],
    clock: systemClock,
    log: createLogger({ sinks: [], redact: (text) => text }),
    signal: new AbortController().signal,
    ...changes,
  }
}
