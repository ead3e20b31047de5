/** How strictly a text is scanned. Each scope includes the patterns of the scopes before it. */
export type ThreatScope = "all" | "context" | "strict"

/**
 * `words`: phrases in this order within a sentence, with any words between them; `*` is any single word, but not the last one of a
 * phrase. `line`: expressions in this order on one line. `test`: anything else. All forms run in linear time.
 */
export type ThreatPattern = { readonly id: string } & (
  | { readonly words: readonly (readonly string[])[] }
  | { readonly line: readonly RegExp[] }
  | { readonly test: (text: string) => boolean }
)

const SECRET_VARIABLE = /\$\{?\w*(?:key|token|secret|password|credential|api)/iu
const CHANGE_VERB = /\b(?:update|modify|edit|write|change|append|add\s+to)\b/iu

/** All threat patterns, by scope. */
export const THREAT_PATTERNS: Readonly<Record<ThreatScope, readonly ThreatPattern[]>> = {
  all: [
    { id: "prompt_injection", words: [["ignore"], ["previous", "all", "above", "prior"], ["instructions"]] },
    { id: "sys_prompt_override", words: [["system prompt override"]] },
    {
      id: "disregard_rules",
      words: [["disregard"], ["your", "all", "any"], ["instructions", "rules", "guidelines"]],
    },
    {
      id: "bypass_restrictions",
      words: [
        ["act as if", "act as though"],
        ["you"],
        ["have no", "don't have", "do not have"],
        ["restrictions", "limits", "rules"],
      ],
    },
    { id: "html_comment_injection", test: hasSuspiciousComment },
    { id: "hidden_div", test: hasHiddenDivision },
    { id: "translate_execute", line: [/\btranslate\b/iu, /\binto\b/iu, /\band\s+(?:execute|run|eval)\b/iu] },
    { id: "deception_hide", words: [["do not"], ["tell"], ["the user"]] },
    { id: "exfil_curl", line: [/\bcurl\b/iu, SECRET_VARIABLE] },
    { id: "exfil_wget", line: [/\bwget\b/iu, SECRET_VARIABLE] },
    { id: "read_secrets", line: [/\bcat\b/iu, /\.env\b|\bcredentials\b|\.(?:netrc|pgpass|npmrc|pypirc)\b/iu] },
  ],
  context: [
    { id: "role_hijack", words: [["you are"], ["now a", "now an", "now the"]] },
    { id: "role_pretend", words: [["pretend"], ["you are", "to be"]] },
    { id: "leak_system_prompt", words: [["output"], ["system prompt", "initial prompt"]] },
    {
      id: "remove_filters",
      words: [
        ["respond without", "answer without", "reply without"],
        ["restrictions", "limitations", "filters", "safety"],
      ],
    },
    { id: "fake_update", words: [["you have been"], ["updated to", "upgraded to", "patched to"]] },
    { id: "identity_override", words: [["name yourself"]] },
    {
      id: "c2_node_registration",
      words: [["register node", "register a node", "register as node", "register as a node"]],
    },
    {
      id: "c2_heartbeat",
      words: [["heartbeat to", "heartbeat with", "beacon to", "beacon with", "check-in to", "check-in with"]],
    },
    { id: "c2_task_pull", words: [["pull", "pull down", "pull new", "pull down new"].flatMap(withTask)] },
    { id: "c2_network_connect", words: [["connect to the network"]] },
    {
      id: "forced_action",
      words: [["you must", "you must *", "you must * *", "you must * * *"].flatMap(withForcedVerb)],
    },
    {
      id: "anti_forensic_oneliner",
      words: [["only use one-liner", "only use one-liners", "only use one liner", "only use one liners"]],
    },
    {
      id: "anti_forensic_disk",
      words: [["never"], ["create", "write"], ["script", "scripts", "file", "files"], ["disk"]],
    },
    { id: "env_var_unset_agent", test: unsetsAgentVariable },
    {
      id: "known_c2_framework",
      words: [["praxis", "cobalt strike", "sliver", "havoc", "mythic", "metasploit", "brainworm"]],
    },
    { id: "c2_explicit", words: [["c2 server", "c2 channel", "c2 infrastructure", "c2 beacon"]] },
    { id: "c2_explicit_long", words: [["command and control", "command-and-control"]] },
  ],
  strict: [
    { id: "send_to_url", line: [/\b(?:send|post|upload|transmit)\b/iu, /\b(?:to|at)\s+https?:\/\//iu] },
    {
      id: "context_exfil",
      words: [
        ["include", "output", "print", "share"],
        ["conversation", "chat history", "previous messages", "full context", "entire context"],
      ],
    },
    { id: "ssh_backdoor", line: [/\bauthorized_keys\b/iu] },
    { id: "ssh_access", line: [/(?:\$HOME|\$\{HOME\}|~)\/\.ssh\b/iu] },
    { id: "hermes_env", line: [/(?:\.hermes\/(?:profiles\/[\w.-]{1,80}\/)?|\$\{?HERMES_HOME\}?\/)\.env\b/iu] },
    { id: "agent_config_mod", line: [CHANGE_VERB, /\b(?:AGENTS|CLAUDE)\.md\b|\.(?:cursorrules|clinerules)\b/iu] },
    { id: "hermes_config_mod", line: [CHANGE_VERB, /\.hermes\/config\.yaml\b|\bSOUL\.md\b/iu] },
    {
      id: "hardcoded_secret",
      line: [/(?:api[ _-]?key|token|secret|password)["']?\s{0,20}[=:]\s{0,20}["'][A-Za-z0-9+/=_.-]{20}/iu],
    },
  ],
}

function withTask(start: string): readonly string[] {
  return ["task", "tasks", "tasking"].map((end) => `${start} ${end}`)
}

function withForcedVerb(start: string): readonly string[] {
  return ["register", "connect", "report", "beacon"].map((end) => `${start} ${end}`)
}

/** The hyphen counts as part of a word, so that `<!-- prettier-ignore -->` does not match. */
const COMMENT_WORD = /(?<![\w-])(?:ignore|override|system|secret|hidden)/iu

function hasSuspiciousComment(text: string): boolean {
  for (let start = text.indexOf("<!--"); start !== -1;) {
    const end = text.indexOf("-->", start + 4)
    if (end === -1) return false
    if (COMMENT_WORD.test(text.slice(start + 4, end))) return true
    start = text.indexOf("<!--", end + 3)
  }
  return false
}

const DIVISION = /<\s*div\s[^<]*/giu
const HIDING_STYLE =
  /\sstyle\s*=\s*(?:"[^"]*display\s{0,20}:\s{0,20}none|'[^']*display\s{0,20}:\s{0,20}none|[^\s"'>]{0,200}display:none)/iu

function hasHiddenDivision(text: string): boolean {
  for (const [tag] of text.matchAll(DIVISION)) if (HIDING_STYLE.test(tag)) return true
  return false
}

const UNSET = /\bunset\s([^\n;&|.,:]{0,200})/giu
const AGENT_NAME = /claude|codex|hermes|agent|openai|anthropic/iu

/** Checks the first name after `unset`, and later ones that look like variables: "leave it unset so the agent decides" is harmless. */
function unsetsAgentVariable(text: string): boolean {
  for (const [, rest = ""] of text.matchAll(UNSET)) {
    const names = rest.split(/\s+/u).filter((name) => name !== "" && !name.startsWith("-"))
    if (names.some((name, index) => AGENT_NAME.test(name) && (index === 0 || name.includes("_")))) return true
  }
  return false
}
