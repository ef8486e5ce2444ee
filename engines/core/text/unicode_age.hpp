// Where the `tokenizers` library's Unicode tables end.
#pragma once

namespace verlc::text {

/// True for code points with a combining class or a decomposition that the normal forms of the `tokenizers`
/// library do not know, because they came to Unicode after its tables: there they neither move nor fall
/// apart.
bool is_younger_mark(char32_t c);

}  // namespace verlc::text
