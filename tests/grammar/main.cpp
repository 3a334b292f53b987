// Has llama.cpp's own grammar builder, which its server uses for tool calls, build a grammar of each schema, and its parser
// read that grammar. A line of standard input is a name, a tab and a JSON Schema.
#include "common.h"
#include "ggml.h"
#include "json-schema-to-grammar.h"
#include "llama-grammar.h"
#include "llama-vocab.h"

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

// Two functions of the rest of llama.cpp, which would take a quarter of an hour to compile: its assertions, and what looks up
// tokens of a model, which no grammar of a schema names.

void ggml_abort(const char * file, int line, const char *, ...) {
    std::cerr << file << ":" << line << ": an assertion of llama.cpp failed\n";
    std::abort();
}

int32_t llama_vocab::tokenize(const char *, int32_t, llama_token *, int32_t, bool, bool) const {
    throw std::logic_error("the grammar names a token of a model");
}

static bool accepted(const std::string & name, const std::string & schema) {
    try {
        const auto grammar = json_schema_to_grammar(common_json::parse(schema), true);
        llama_grammar_parser parser;
        if (parser.parse(grammar.c_str()) && parser.symbol_ids.count("root") == 1) {
            return true;
        }
        std::cerr << name << ": the grammar that was built cannot be parsed:\n" << grammar << "\n";
    } catch (const std::exception & error) {
        std::cerr << name << ": " << error.what() << "\n";
    }
    return false;
}

int main() {
    int built = 0, refused = 0;
    for (std::string line; std::getline(std::cin, line);) {
        const auto tab = line.find('\t');
        if (tab == std::string::npos) {
            std::cerr << "a line without a tab: " << line << "\n";
            return 2;
        }
        (accepted(line.substr(0, tab), line.substr(tab + 1)) ? built : refused)++;
    }
    std::cout << built << " schemas accepted, " << refused << " refused\n";
    return built > 0 && refused == 0 ? 0 : 1;
}
