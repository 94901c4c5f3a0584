// The compiled half of fmt: its headers are enough, but a library that includes all of fmt in every
// source takes two to three times as long to build. Everything else sees only the declarations (no
// FMT_HEADER_ONLY).
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
template FMT_API auto detail::dragonbox::to_decimal(float value) noexcept
    -> detail::dragonbox::decimal_fp<float>;
template FMT_API auto detail::dragonbox::to_decimal(double value) noexcept
    -> detail::dragonbox::decimal_fp<double>;
template FMT_API auto detail::thousands_sep_impl(detail::locale_ref)
    -> detail::thousands_sep_result<char>;
template FMT_API auto detail::decimal_point_impl(detail::locale_ref) -> char;
template FMT_API auto detail::locale_ref::get<std::locale>() const -> std::locale;
template FMT_API detail::locale_ref::locale_ref(const std::locale&);
template FMT_API void detail::buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 110000  // a template until then
template FMT_API void detail::vformat_to(detail::buffer<char>&, string_view,
                                         basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                                         detail::locale_ref);
#endif
FMT_END_NAMESPACE
