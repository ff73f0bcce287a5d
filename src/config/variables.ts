/** Variables that are no settings: read where the configuration is not yet, or only handed on to ZCode. */

export interface VariableInfo {
  readonly variable: string;
  readonly about: string;
}

export const VARIABLES: readonly VariableInfo[] = [
  { variable: "ZCODE_HOME", about: "ZCode's own folder; `~/.zcode` where it is not set." },
  {
    variable: "ZCODE_ACP_DEBUG",
    about: "`1` copies the log, with its lesser lines, to stderr. It never holds prompts, code or keys.",
  },
  {
    variable: "ZCODE_HTTP_PROXY",
    about: "Proxy of ZCode's own requests; taken from `HTTPS_PROXY` or `HTTP_PROXY` where it is not set.",
  },
  { variable: "ZCODE_NO_PROXY", about: "Hosts without proxy; taken from `NO_PROXY` where it is not set." },
  {
    variable: "ZCODE_AGENT_CA_CERT",
    about: "A file of certificates for ZCode; taken from `NODE_EXTRA_CA_CERTS` where it is not set.",
  },
  {
    variable: "ZCODE_MODEL",
    about: "The model that older ZCodes begin with; set from the provider where you did not set it.",
  },
  {
    variable: "ZCODE_BASE_URL",
    about: "Removed from ZCode's environment: it would take it for the address of its own service.",
  },
  {
    variable: "ZCODE_DATA_BASE_DIR",
    about: "Set for ZCode when `ZCODE_HOME` is set: the folder that holds it.",
  },
  {
    variable: "ZCODE_BUILTIN_PROVIDER_CONFIG_FILE",
    about: "Set for ZCode when it comes with a table of providers; where that lies.",
  },
  {
    variable: "ZCODE_PERSONAL_PROVIDER_CONFIG_FILE",
    about: "Set together with the one above; your own providers.",
  },
  {
    variable: "ZCODE_ACP_INTERNAL_TREE",
    about: "Set for ZCode and inherited by all it starts, so that nothing of it is left behind. Not for you.",
  },
];
