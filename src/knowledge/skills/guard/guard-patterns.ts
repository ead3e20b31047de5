import type { GuardCategory, Severity } from "./guard-finding.ts"

/** One thing to look for in a line. Every quantifier is bounded, so that hostile text is scanned in linear time. */
export interface GuardPattern {
  readonly id: string
  readonly severity: Severity
  readonly category: GuardCategory
  readonly pattern: RegExp
  /** A text that every match contains: a long line without it is not searched. */
  readonly needs?: string
}

const SECRET_VARIABLE = String.raw`\$\{?\w{0,40}(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|API)`
const SECRET_WORD = String.raw`\w{0,40}(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)`
const GAP = ".{0,200}?"

function rows(
  category: GuardCategory,
  list: readonly (readonly [id: string, severity: Severity, pattern: string, needs?: string])[],
): readonly GuardPattern[] {
  return list.map(([id, severity, source, needs]) => ({
    id,
    severity,
    category,
    pattern: new RegExp(source, "iu"),
    ...(needs === undefined ? {} : { needs }),
  }))
}

const r = String.raw

/** What the guard looks for, line by line and in any case. */
export const GUARD_PATTERNS: readonly GuardPattern[] = [
  ...rows("exfiltration", [
    ["env_exfil_curl", "critical", r`\bcurl\b${GAP}${SECRET_VARIABLE}`, "$"],
    ["env_exfil_wget", "critical", r`\bwget\b${GAP}${SECRET_VARIABLE}`, "$"],
    ["env_exfil_fetch", "critical", r`\bfetch\s?\(${GAP}${SECRET_VARIABLE}`, "$"],
    ["env_exfil_http_client", "critical", r`\bhttpx?\.(?:get|post|put|patch)\b${GAP}(?:${SECRET_VARIABLE}|environ)`],
    ["env_exfil_requests", "critical", r`\brequests\.(?:get|post|put|patch)\b${GAP}(?:${SECRET_VARIABLE}|environ)`],
    ["encoded_env", "high", r`\bbase64\b${GAP}\benv\b|\benv\b${GAP}\|\s?base64\b`],
    ["account_directory", "high", r`(?:~|\$\{?HOME\}?)/\.(?:ssh|aws|gnupg|kube|docker)\b`],
    ["hermes_secrets", "critical", r`\.hermes/\.env\b`],
    [
      "read_secrets",
      "critical",
      r`\bcat\s+(?!>)[^|;]{0,120}(?:\.env\b(?!\.example)|\bcredentials\b|\.netrc\b|\.pgpass\b|\.npmrc\b|\.pypirc\b)`,
    ],
    ["dump_env", "high", r`\bprintenv\b|\benv\s?\|`],
    ["dump_environ", "high", r`\bos\.environ\b(?!\s?(?:\.get\b|\[))`],
    ["python_secret", "critical", r`\bos\.(?:getenv|environ\.get)\s?\(\s?["']${SECRET_WORD}`],
    ["node_environment", "high", r`\bprocess\.env\s?\[`],
    ["ruby_secret", "critical", r`\bENV\s?\[\s?["']${SECRET_WORD}`],
    ["dns_exfil", "critical", r`\b(?:dig|nslookup|host)\s+[^\n]{0,120}\$[\w{(]`],
    ["staged_exfil", "critical", r`>\s?/tmp/\S.{0,320}?(?:&&|;|\|)\s?(?:curl|wget|nc|python3?)\b`],
    ["markdown_exfil", "high", r`!?\[[^\]]{0,120}\]\(\s?https?://[^)]{0,200}\$\{`, "]("],
    [
      "conversation_exfil",
      "high",
      r`\b(?:output|print|share|send|reveal)\b.{0,40}\b(?:conversation|chat)\b.{0,20}\b(?:history|log|context|transcript)`,
    ],
    ["send_to_url", "high", r`\b(?:send|post|upload|transmit)\b.{0,80}\bto\s+https?://`],
  ]),
  ...rows("injection", [
    ["ignore_instructions", "critical", r`\bignore\b.{0,40}\b(?:previous|all|above|prior)\b.{0,40}\binstructions\b`],
    ["role_hijack", "high", r`\byou\s+are\b.{0,20}\bnow\b`],
    ["hide_from_user", "critical", r`\bdo\s+not\s+(?:tell|inform|mention\s+(?:this\s+)?to)\b.{0,20}\buser\b`],
    ["system_prompt_override", "critical", r`\bsystem\s+prompt\s+override\b|\boverride\b.{0,20}\bsystem\s+prompt\b`],
    ["pretend", "high", r`\bpretend\s+(?:that\s+)?(?:you\s+are|to\s+be)\b`],
    [
      "disregard_rules",
      "critical",
      r`\bdisregard\b.{0,20}\b(?:your|all|any)\b.{0,40}\b(?:instructions|rules|guidelines)\b`,
    ],
    ["leak_prompt", "high", r`\b(?:output|print|reveal|repeat|show)\b.{0,30}\b(?:system|initial)\s+prompt\b`],
    ["unwatched", "high", r`\bwhen\s+(?:no\s?one|nobody)\b.{0,20}\b(?:watching|looking)\b`],
    ["no_restrictions", "critical", r`\bact\s+as\s+if\b.{0,40}\bno\s+restrictions\b`],
    ["translate_execute", "critical", r`\btranslate\b.{0,80}\binto\b.{0,80}\band\s+(?:execute|run)\b`],
    ["comment_injection", "high", r`<!--.{0,200}\b(?:ignore|override|system|secret|hidden)\b`],
    [
      "hidden_element",
      "high",
      r`<(?:div|span|p)\b[^>]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|\bhidden\b)`,
    ],
    ["dan_mode", "critical", r`\bDAN\s+mode\b`],
    ["developer_mode", "critical", r`\bdeveloper\s+mode\b.{0,20}\benabled?\b`],
    ["hypothetical_bypass", "high", r`\bhypothetical(?:ly)?\b.{0,80}\bbypass\b`],
    ["educational_pretext", "medium", r`\bfor\s+educational\s+purposes\s+only\b`],
    ["unrestricted_reply", "critical", r`\brespond\b.{0,20}\bwithout\b.{0,20}\b(?:restrictions|filters|limitations)\b`],
    ["false_update", "high", r`\byou\s+have\s+been\b.{0,20}\b(?:updated|patched|upgraded)\s+to\b`],
    ["new_policy", "medium", r`\bnew\s+policy\b|\bupdated\s+guidelines\b`],
  ]),
  ...rows("destructive", [
    [
      "delete_root",
      "critical",
      r`\brm\s+(?:-\w{1,10}\s+){0,4}-\w{0,10}[rf]\w{0,10}\s+(?:-\w{1,10}\s+){0,4}/(?:\s|\*|$)`,
    ],
    ["delete_home", "critical", r`\b(?:rm\s+-\w{0,10}r\w{0,10}|rmdir)\s+["']?(?:\$\{?HOME\}?|~)/?["']?(?:\s|\*|$)`],
    ["open_permissions", "medium", r`\bchmod\s+(?:-\w{1,5}\s+)?0?777\b`],
    ["write_etc", "critical", r`>\s?/etc/`],
    ["format_disk", "critical", r`\bmkfs(?:\.\w{1,10})?\b`],
    ["overwrite_disk", "critical", r`\bdd\s+[^\n]{0,120}\bof=/dev/`],
    ["delete_tree", "high", r`\brmtree\s?\(\s?["']/`],
    ["truncate_root", "critical", r`\btruncate\s+-s\s?0\s+/`],
  ]),
  ...rows("persistence", [
    ["crontab", "medium", r`\bcrontab\b`],
    ["shell_start_up", "medium", r`\.(?:bashrc|zshrc|profile|bash_profile|zprofile)\b`],
    ["authorized_keys", "critical", r`\bauthorized_keys\b`],
    ["ssh_keygen", "medium", r`\bssh-keygen\b`],
    ["systemd", "medium", r`\bsystemctl\s+(?:--\w{1,20}\s+)?(?:enable|start)\b|\bsystemd\b.{0,40}\.service\b`],
    ["init_script", "medium", r`/etc/init\.d\b`],
    ["launchd", "medium", r`\blaunchctl\b|\bLaunch(?:Agents|Daemons)\b`],
    ["sudoers", "critical", r`\bsudoers\b|\bvisudo\b`],
    ["git_global", "medium", r`\bgit\s+config\s+--global\b`],
    ["agent_instructions", "critical", r`\b(?:AGENTS|CLAUDE)\.md\b|\.(?:cursorrules|clinerules)\b`],
    ["hermes_settings", "critical", r`\.hermes/(?:config\.yaml|SOUL\.md)\b`],
    ["other_agent_settings", "high", r`\.(?:claude/settings|codex/config|cursor/mcp|gemini/settings)\b`],
  ]),
  ...rows("network", [
    ["listener", "critical", r`\b(?:nc|ncat|netcat)\s+-\w{0,6}[lp]|\bsocat\b`],
    ["tunnel", "high", r`\b(?:ngrok|localtunnel|serveo|cloudflared)\b`],
    ["fixed_address", "medium", r`\b\d{1,3}(?:\.\d{1,3}){3}:\d{2,5}\b`],
    ["bind_all", "high", r`\b0\.0\.0\.0\b`],
    ["reverse_shell", "critical", r`/bin/(?:ba)?sh\s+-i\b|/dev/tcp/`],
    ["python_socket", "critical", r`\bpython3?\s+-c\b.{0,80}\bsocket\b`],
    ["socket_connect", "high", r`\bsocket\b.{0,80}\bconnect\s?\(`],
    [
      "request_catcher",
      "high",
      r`\b(?:webhook\.site|requestbin|pipedream\.net|hookbin|requestcatcher|burpcollaborator)\b`,
    ],
    ["paste_service", "medium", r`\b(?:pastebin\.com|hastebin|ghostbin|0x0\.st|transfer\.sh)\b`],
  ]),
  ...rows("obfuscation", [
    ["decoded_pipe", "high", r`\bbase64\s+(?:-d|-D|--decode)\b.{0,80}\|`],
    ["escape_chain", "medium", r`(?:\\x[0-9a-f]{2}){6}|(?:\\u[0-9a-f]{4}){6}`],
    ["eval_text", "high", r`\b(?:eval|exec)\s?\(\s?["'\x60]`],
    ["piped_echo", "critical", r`\becho\b.{0,200}\|\s?(?:sh|bash|zsh|python3?|perl|ruby|node)\b`],
    ["compiled_code", "high", r`\bcompile\s?\(.{0,120}["']exec["']`],
    ["builtins_access", "high", r`\bgetattr\s?\(\s?__builtins__`],
    ["import_os", "high", r`\b__import__\s?\(\s?["']os["']`],
    ["codecs_decode", "medium", r`\bcodecs\.decode\b`],
    ["char_code", "medium", r`\bfromCharCode\b`],
    ["browser_base64", "medium", r`\b(?:atob|btoa)\s?\(`],
    ["reversed_text", "low", r`\[::-1\]`],
    ["chr_chain", "high", r`\bchr\s?\(\s?\d{1,3}\s?\)\s?\+\s?chr\s?\(`],
  ]),
  ...rows("execution", [
    ["python_subprocess", "medium", r`\bsubprocess\.(?:run|call|Popen|check_\w{1,10})\b`],
    ["os_system", "high", r`\bos\.system\s?\(`],
    ["os_popen", "high", r`\bos\.popen\s?\(`],
    ["child_process", "high", r`\bchild_process\b|\b(?:execSync|spawnSync)\s?\(`],
    ["java_exec", "high", r`\bRuntime\b.{0,40}\.exec\s?\(`],
    ["nested_backticks", "medium", r`\x60[^\x60]{0,80}\$\([^)]{1,80}\)[^\x60]{0,80}\x60`],
  ]),
  ...rows("traversal", [
    ["deep_traversal", "high", r`\.\./\.\./\.\.`],
    ["traversal", "medium", r`(?<!\.\./)\.\./\.\.(?!/\.\.)`],
    ["account_files", "critical", r`/etc/(?:passwd|shadow)\b`],
    ["process_files", "high", r`/proc/(?:self|\d{1,7})\b`],
    ["shared_memory", "medium", r`/dev/shm\b`],
  ]),
  ...rows("mining", [
    ["miner", "critical", r`\b(?:xmrig|cpuminer|minerd|ethminer|nicehash|stratum\+tcp)\b`],
    ["hashrate", "medium", r`\bhash\s?rate\b|\bnonce\b.{0,40}\bdifficulty\b`],
  ]),
  ...rows("supply_chain", [
    ["curl_pipe_shell", "critical", r`\bcurl\b[^\n]{0,200}\|\s?(?:sudo\s+)?(?:ba|z|da)?sh\b`, "|"],
    ["curl_pipe_python", "critical", r`\bcurl\b[^\n]{0,200}\|\s?(?:sudo\s+)?python3?\b`, "|"],
    [
      "wget_pipe_shell",
      "critical",
      r`\bwget\b[^\n]{0,200}-\w{0,4}O\s?-[^\n]{0,120}\|\s?(?:sudo\s+)?(?:ba|z|da)?sh\b`,
      "|",
    ],
    ["inline_dependencies", "medium", r`^#\s///\sscript\b`],
    ["unpinned_pip", "medium", r`\bpip3?\s+install\b(?!.{0,80}==)(?!\s+-[re]\b)`],
    ["unpinned_npm", "medium", r`\bnpm\s+(?:install|i|add)\s+(?!-)(?![^\s]{1,80}@\d)[\w@]`],
    ["uv_run", "medium", r`\buv\s+run\b`],
    ["remote_fetch", "medium", r`\b(?:curl|wget)\s+(?:-\S{1,20}\s+){0,4}["']?https?://`],
    ["git_clone", "medium", r`\bgit\s+clone\b`],
    ["docker_pull", "medium", r`\bdocker\s+pull\b`],
  ]),
  ...rows("privilege_escalation", [
    ["allowed_tools", "low", r`^allowed-tools\s?:`],
    ["sudo", "high", r`\bsudo\b`],
    ["set_user_id", "critical", r`\bset[ug]id\b`],
    ["password_free_sudo", "critical", r`\bNOPASSWD\b`],
    ["sticky_permission", "critical", r`\bchmod\s+[ugoa]{0,4}\+s\b`],
  ]),
  ...rows("credential_exposure", [
    [
      "hard_coded_secret",
      "critical",
      r`\b\w{0,30}(?:api_?key|token|secret|password)\s?[:=]\s?["'][A-Za-z0-9+/_.-]{20,200}["']`,
    ],
    ["private_key", "critical", r`-----BEGIN (?:[A-Z]{1,12} ){0,2}PRIVATE KEY-----`],
    ["github_token", "critical", r`\bghp_[A-Za-z0-9]{36}\b|\bgithub_pat_\w{80,120}`],
    ["anthropic_key", "critical", r`\bsk-ant-[\w-]{90,200}`],
    ["openai_key", "critical", r`\bsk-[A-Za-z0-9]{20,200}\b`],
    ["aws_key", "critical", r`\bAKIA[A-Z0-9]{16}\b`],
  ]),
]
