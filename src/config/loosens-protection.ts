import { assertNever } from "../base/assert-never.ts"
import { isRecord } from "../base/json.ts"
import { compareProfiles, compareRules } from "./permission-comparison.ts"
import { readTexts } from "./setting.ts"
import { isReserved, resolveSettingPath } from "./setting-path.ts"
import { findSetting } from "./settings.ts"

/**
 * Says what protection a change of the settings removes, as a sentence for the user; undefined when it removes none. `path` names a setting, a
 * part of one (`approvals.profiles.mine.default`) or a section. An undefined value stands for the default.
 */
export function loosensProtection(path: string, before: unknown, after: unknown): string | undefined {
  const target = resolveSettingPath(path)
  switch (target.kind) {
    case "section":
      return sectionReason(path, { settings: target.settings.map(([key]) => key), before, after })
    case "member":
      // One entry of a setting is compared as the setting with only this entry.
      return changeReason(
        target.key,
        nested(path.slice(target.key.length + 1), before),
        nested(path.slice(target.key.length + 1), after),
      )
    case "setting":
      return changeReason(path, before, after)
    case "unknown":
      return undefined
    default:
      return assertNever(target)
  }
}

/** A mapping for a section sets the settings that it names and keeps the others; without one, all of them are removed. */
function sectionReason(
  section: string,
  {
    settings,
    before,
    after,
  }: { readonly settings: readonly string[]; readonly before: unknown; readonly after: unknown },
): string | undefined {
  for (const key of settings) {
    const value = memberAt(after, key, section)
    if (value === undefined && isRecord(after)) continue
    const reason = changeReason(key, memberAt(before, key, section), value)
    if (reason !== undefined) return reason
  }
  return undefined
}

function memberAt(value: unknown, key: string, section: string): unknown {
  let found = value
  for (const name of key.slice(section.length + 1).split(".")) found = isRecord(found) ? found[name] : undefined
  return found
}

function nested(path: string, value: unknown): unknown {
  if (value === undefined) return undefined
  return path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
}

function changeReason(key: string, before: unknown, after: unknown): string | undefined {
  const compare = Object.hasOwn(COMPARISONS, key) ? COMPARISONS[key] : undefined
  if (compare === undefined || isReserved(key)) return undefined
  return compare(valueOf(key, before), valueOf(key, after))
}

/** As the setting reads it. A part of a list or of a mapping is compared as it is. */
function valueOf(key: string, written: unknown): unknown {
  const setting = findSetting(key)
  if (written === undefined) return setting?.default
  return setting?.read(written) ?? (isRecord(written) ? written : setting?.default)
}

type Comparison = (before: unknown, after: unknown) => string | undefined

/** From strictest to loosest; a value that is not listed is compared as the loosest. */
function raises(order: readonly unknown[], reasons: (after: unknown) => string): Comparison {
  const rankOf = (value: unknown): number => (order.includes(value) ? order.indexOf(value) : order.length)
  return (before, after) => (rankOf(after) > rankOf(before) ? reasons(after) : undefined)
}

function turnsOn(reason: string): Comparison {
  return raises([false, true], () => reason)
}

function turnsOff(reason: string): Comparison {
  return raises([true, false], () => reason)
}

function adds(reason: (added: string) => string): Comparison {
  return (before, after) => {
    const known = new Set(entriesOf(before))
    const added = entriesOf(after).filter((entry) => !known.has(entry))
    return added.length === 0 ? undefined : reason(added.join(", "))
  }
}

function entriesOf(value: unknown): readonly string[] {
  const items: unknown = isRecord(value) ? Object.values(value) : value
  return readTexts(items) ?? (Array.isArray(items) ? items.map((item) => JSON.stringify(item)) : [])
}

/** A member of an entry, such as `trusted` of a language server, that becomes true. */
function allowsFor(member: string, reason: (name: string) => string): Comparison {
  const allowed = (value: unknown): readonly string[] =>
    Object.entries(isRecord(value) ? value : {}).flatMap(([name, entry]) =>
      isRecord(entry) && entry[member] === true ? [name] : [],
    )
  return (before, after) => {
    const known = new Set(allowed(before))
    const name = allowed(after).find((candidate) => !known.has(candidate))
    return name === undefined ? undefined : reason(name)
  }
}

const CONTAINERS = ["docker", "singularity", "modal", "daytona"]

function compareBackends(before: unknown, after: unknown): string | undefined {
  if (before === after || CONTAINERS.includes(String(after))) return undefined
  if (after === "ssh") return "Commands then run on another machine, where there is no sandbox."
  return CONTAINERS.includes(String(before))
    ? "Commands then run on this machine instead of in a container."
    : undefined
}

/** The settings that protect something, each with what a change can take away. */
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  "approvals.mode": compareProfiles,
  "approvals.profile": compareProfiles,
  "approvals.profiles": compareRules,
  "approvals.platforms": compareRules,
  "approvals.rules": compareRules,
  command_allowlist: adds((added) => `Hermes then does not ask about commands of this kind: ${added}.`),
  "approvals.cron_mode": raises(
    ["deny", "approve"],
    () => "Scheduled runs then do without asking what needs approval.",
  ),
  "approvals.headless_mode": raises(
    ["deny", "approve"],
    () => "Runs without a user, such as scripts, then do without asking what needs approval.",
  ),
  "approvals.plan_allow_web": turnsOn("Plan mode may then read the web, and what it asks for leaves this machine."),
  "approvals.mcp_reload_confirm": turnsOff("MCP servers are then reloaded without a question."),
  "approvals.destructive_slash_confirm": turnsOff("Slash commands then discard work without a question."),
  "approvals.audit.enabled": turnsOff("Decisions are then no longer written to logs/audit.jsonl."),
  "delegation.subagent_auto_approve": turnsOn("Risky commands of sub-agents then run without a question."),
  "memory.write_approval": turnsOff("The agent then writes to memory without asking."),
  "skills.write_approval": turnsOff("The agent then writes skills without asking."),
  "skills.guard_agent_created": turnsOff("Skills that the agent writes are then no longer scanned."),
  "skills.inline_shell": turnsOn("Skills may then run commands while they load."),
  "security.redact_secrets": turnsOff("Keys and tokens then appear in logs and reach the model."),
  "security.allow_private_urls": turnsOn(
    "Web tools and MCP servers may then reach private addresses, such as your router and services on this machine.",
  ),
  "security.trusted_hosts": adds((added) => `Web tools and MCP servers may then reach private addresses of ${added}.`),
  "security.website_blocklist.enabled": turnsOff("Listed websites are then no longer refused."),
  "security.tirith_enabled": turnsOff("The tirith scanner then no longer checks commands."),
  "security.tirith_fail_open": turnsOn("Commands then run although the tirith scanner failed."),
  "checkpoints.enabled": turnsOff("Changes to files can then not be undone with /rollback."),
  hooks_auto_accept: turnsOn("New hooks then run without a question."),
  "lsp.servers": allowsFor(
    "trusted",
    (name) => `The language server ${name} then runs code of projects without the sandbox.`,
  ),
  mcp_servers: allowsFor(
    "trust_annotations",
    (name) => `Tools that the MCP server ${name} calls read-only then run without a question.`,
  ),
  "terminal.backend": compareBackends,
  "terminal.sandbox": raises(["required", "auto", "off"], (after) =>
    after === "off"
      ? "Commands then run without the sandbox: they can read and change everything that you can, including your keys."
      : "Commands then run without protection where no sandbox is available.",
  ),
  "terminal.sandbox_network": raises([false, "list", true], (after) =>
    after === "list"
      ? "Commands may then reach the hosts of terminal.sandbox_hosts."
      : "Commands may then reach every host and can send what they have read.",
  ),
  "terminal.sandbox_hosts": adds((added) => `Commands may then send data to ${added}.`),
  "terminal.sandbox_sockets": adds(
    (added) => `Commands may then use ${added} and other Unix sockets, and through them act outside the sandbox.`,
  ),
  "terminal.sandbox_write": adds((added) => `Commands may then change ${added}, which the sandbox protects.`),
  "terminal.env_passthrough": adds((added) => `Commands can then read the value of ${added}.`),
  "terminal.credential_files": adds((added) => `Commands on other machines can then read ${added}.`),
  "terminal.docker_volumes": adds((added) => `Commands in the container can then reach ${added}.`),
  "terminal.docker_forward_env": adds((added) => `Commands in the container can then read the value of ${added}.`),
  "terminal.docker_extra_args": adds((added) => `\`${added}\` may give the container more rights.`),
  "terminal.docker_mount_cwd_to_workspace": turnsOn("Commands in the container can then change the working directory."),
  "terminal.docker_network": turnsOn("Commands in the container may then reach every host."),
}
