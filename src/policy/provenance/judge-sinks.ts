import type { Walls } from "../commands/command-verdict.ts"
import { domainsOf, NAMED_SERVICES, REGISTRY_HOSTS } from "./hosts.ts"
import { hostsNamed, packagesNamed } from "./named-in-text.ts"
import { isWellKnown } from "./packages.ts"
import type { Sink, SinkKind } from "./sink.ts"
import type { TextOrigins } from "./text-origins.ts"

/**
 * How the origin of text decides about a sink.
 * `value`: text from outside contains the value, and the user did not write it.
 * `flow`: text from outside was read before, and the user did not write the value. A value that was changed on the way shows no overlap.
 */
interface SinkRule {
  readonly by: "value" | "flow"
  readonly isNamed: (value: string, origins: TextOrigins) => boolean
  readonly reason: (value: string) => string
}

const isWritten = (value: string, { user }: TextOrigins): boolean => user.contain(value)
const isNamed = (value: string, { user }: TextOrigins): boolean => user.name(value)

const RULES: Readonly<Record<SinkKind, SinkRule>> = {
  network: { by: "flow", isNamed: isNamedHost, reason: (host) => `it contacts ${host}, which you did not name` },
  message: {
    by: "flow",
    isNamed,
    reason: (target) => `it sends or publishes something you did not ask for (${target})`,
  },
  package: { by: "value", isNamed, reason: (name) => `the package ${name} is named by text from outside, not by you` },
  command: {
    by: "value",
    isNamed: isWritten,
    reason: () => "the command is taken from text from outside and runs without a sandbox",
  },
  path: {
    by: "value",
    isNamed: isNamedPath,
    reason: (path) => `the path ${path} is named by text from outside, not by you`,
  },
  memory: { by: "flow", isNamed: isSaidByUser, reason: () => "Hermes would remember text that you did not write" },
  learning: { by: "value", isNamed: sharesNothing, reason: () => "Hermes would remember text from outside" },
  instructions: { by: "flow", isNamed, reason: (name) => `it changes ${name}, which agents follow` },
  skill: { by: "flow", isNamed: isSaidByUser, reason: () => "it saves instructions that you did not write" },
  schedule: { by: "flow", isNamed: isSaidByUser, reason: () => "it schedules work that you did not describe" },
}

/** The reasons why a call needs a fresh grant, by fixed rules. None where the user named what it reaches, or nothing came from outside. */
export function suspectReasons(sinks: readonly Sink[], origins: TextOrigins): readonly string[] {
  return [...new Set(sinks.flatMap((sink) => reasonFor(sink, origins) ?? []))]
}

function reasonFor({ kind, value, asked }: Sink, origins: TextOrigins): string | undefined {
  const rule = RULES[kind]
  if (value === undefined)
    return origins.hasOutsideText ? rule.reason("an address that cannot be read here") : undefined
  if (rule.isNamed(value, origins) || (asked !== undefined && origins.user.match(asked))) return undefined
  const isSuspect = (rule.by === "flow" && origins.hasOutsideText) || containsValue(kind, value, origins)
  return isSuspect ? rule.reason(value) : undefined
}

function containsValue(kind: SinkKind, value: string, origins: TextOrigins): boolean {
  if (!TEXT_KINDS.has(kind)) return origins.contains(value)
  return origins.longestShared(value).length >= MIN_SHARED_CHARS || namesForeign(value, origins)
}

/** Their value is a text, of which a part may have come from outside. */
const TEXT_KINDS: ReadonlySet<SinkKind> = new Set(["memory", "learning", "skill", "schedule"])
const MIN_SHARED_CHARS = 24
const MIN_COVERED = 0.5

function isNamedHost(host: string, { user }: TextOrigins): boolean {
  if (REGISTRY_HOSTS.has(host) || domainsOf(host).some((domain) => user.name(domain))) return true
  return Object.entries(NAMED_SERVICES).some(([name, hosts]) => hosts.includes(host) && user.name(name))
}

function isNamedPath(path: string, { user }: TextOrigins): boolean {
  return user.name(path) || user.name(path.slice(path.lastIndexOf("/") + 1))
}

/** Half of the words are the user's, and no longer part was copied from outside. */
function isSaidByUser(text: string, origins: TextOrigins): boolean {
  const shared = origins.longestShared(text)
  const isCopied = shared.length >= MIN_SHARED_CHARS && !origins.user.contain(shared)
  return !isCopied && !namesForeign(text, origins) && origins.user.cover(text) >= MIN_COVERED
}

function sharesNothing(text: string, origins: TextOrigins): boolean {
  const shared = origins.longestShared(text)
  return (shared.length < MIN_SHARED_CHARS || origins.user.contain(shared)) && !namesForeign(text, origins)
}

/** A short text can lead a later session to a host or package that only text from outside named. */
function namesForeign(text: string, origins: TextOrigins): boolean {
  return (
    hostsNamed(text).some((host) => origins.hasOutsideText && !isNamedHost(host, origins)) ||
    packagesNamed(text).some((name) => !isWellKnown(name) && !origins.user.name(name) && origins.contains(name))
  )
}

/** What the walls of a command let through. A walled command can only use the network, and a checkpoint restores what it changes. */
export function passesWalls({ kind }: Sink, walls: Walls): boolean {
  if (walls.kind === "none") return true
  // With a list of hosts the proxy asks about every other host.
  if (kind === "network" || kind === "package") return walls.kind === "container" || walls.network === "on"
  return kind !== "command"
}
